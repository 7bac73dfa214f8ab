/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "print.h"

static void print_words(const char *label, const struct client_words *w, const char *none)
{
	printf("%14s: %s\n", label, w->n ? w->v[0] : none);
	for (uint32_t i = 1; i < w->n; i++)
		printf("%14s  %s\n", "", w->v[i]);
}

static void print_lines(const char *label, const char *text)
{
	size_t n = strcspn(text, "\n");

	printf("%14s: %.*s\n", label, (int)n, n ? text : "none");
	while (text[n] == '\n' && text[n + 1]) {
		text += n + 1;
		n = strcspn(text, "\n");
		printf("%14s  %.*s\n", "", (int)n, text);
	}
}

void print_status(const struct client_status *s, const struct holders *holders)
{
	_cleanup_free_ char *who = holders_text(holders);

	printf("cpuidled %s: %s\n", s->version, s->state);
	printf("%14s: %" PRIu32 ", %" PRIu32 " online; driver %s, governor %s\n", "CPUs", s->cpus,
	       s->cpus_online, s->driver, *s->governor ? s->governor : "none");
	printf("%14s: generation %" PRIu64 ", set by", "Plan", s->generation);
	for (uint32_t i = 0; i < s->backends.n; i++)
		printf("%s %s", i ? "," : "", s->backends.v[i]);
	putchar('\n');
	if (s->module && *s->module)
		printf("%14s: %s\n", "Module", s->module);
	if (s->umwait && *s->umwait)
		printf("%14s: %s\n", "UMWAIT", s->umwait);
	if (s->adapt && *s->adapt && !streq(s->adapt, "off"))
		printf("%14s: %s\n", "Adapt", s->adapt);
	if (s->guard && *s->guard && !streq(s->guard, "off"))
		printf("%14s: %s\n", "Guard", s->guard);
	print_words("Policy", &s->policy_files, "no file: built-in defaults");
	if (s->workloads && *s->workloads)
		printf("%14s: %s\n", "Workloads", s->workloads);
	printf("%14s: %" PRIu32 "\n", "Holds", s->holds);
	if (who && *who)
		printf("%14s: open for writing in %s\n", "DMA latency", who);
	print_lines("Settings", *s->settings ? s->settings : "none");
	printf("%14s: %" PRIu64 " seen; OnForeignWrite=%s\n", "Foreign writes", s->foreign_writes,
	       s->on_foreign_write);
	printf("%14s: %s\n", "Last error", *s->last_error ? s->last_error : "none");
}

void print_profiles(const struct listing *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct listing_profile *p = &l->profiles[i];
		char limit[LATENCY_TEXT_MAX];

		printf("%-16s limit %-8s %s\n", p->name,
		       units_format_latency(p->limit_ns, limit, sizeof(limit)), p->description);
		if (*p->base)
			printf("%-16s Base=%s\n", "", p->base);
		for (uint32_t k = 0; k < p->n_keys; k++)
			printf("%-16s %s=%s\n", "", p->keys[k].key, p->keys[k].value);
	}
}

/* The day is left away where it is today's. */
static void print_time(uint64_t us)
{
	time_t then = (time_t)(us / 1000000), now = time(NULL);
	struct tm a, b;
	char text[32];
	bool today;

	today = localtime_r(&then, &a) && localtime_r(&now, &b) && a.tm_yday == b.tm_yday &&
		a.tm_year == b.tm_year;
	strftime(text, sizeof(text), today ? "%T" : "%F %T", &a);
	fputs(text, stdout);
}

static void print_hold(const struct client_held *h)
{
	char limit[LATENCY_TEXT_MAX];

	printf("%" PRIu32 ": CPUs %s:", h->id, h->cpus);
	if (h->limit_ns != LATENCY_NONE)
		printf(" %s", units_format_latency(h->limit_ns, limit, sizeof(limit)));
	if (*h->profile)
		printf(" profile %s", h->profile);
	if (*h->modes)
		printf(" %s", h->modes);
	printf("; %s (", h->app);
	if (h->pid)
		printf("pid %" PRIu32 ", ", h->pid);
	printf("uid %" PRIu32 "%s%s) since ", h->uid, *h->unit ? ", " : "", h->unit);
	print_time(h->since_us);
	if (h->left_us != UINT64_MAX)
		printf(", %" PRIu64 " s left", (h->left_us + 999999) / 1000000);
	printf("%s%s\n", *h->reason ? ": " : "", h->reason);
}

void print_holds(const struct client_holds *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		print_hold(&h->v[i]);
}

void print_findings(const struct client_findings *f, bool quiet)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct client_finding *v = &f->v[i];

		if (quiet && !streq(v->result, "differs"))
			continue;
		printf("%-12s %s%s%s%s%s%s\n", v->result, *v->cpus ? "CPUs " : "", v->cpus,
		       *v->cpus ? ": " : "", v->knob, *v->detail ? ": " : "", v->detail);
	}
}

void print_diags(const struct diag_list *diags)
{
	char line[1024];

	fflush(stdout);
	for (size_t i = 0; i < diags->n; i++) {
		(void)diag_format(&diags->items[i], line, sizeof(line));
		fprintf(stderr, "%s\n", line);
	}
	if (diags->dropped)
		fprintf(stderr, "%zu more left out\n", diags->dropped);
}
