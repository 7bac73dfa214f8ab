/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import.h"

#include "policy.h"
#include "units.h"

#define CRIO_KEY   "cpu-c-states.crio.io"
#define LINE_BYTES 1024U
#define LINE_WORDS 64U
#define LIST_BYTES 120U /* of a list that becomes one line of policy */
#define SECTIONS   100U /* fewer than POLICY_PROFILES_MAX, with room for others */

/* One more section; false after an error when there would be too many. */
static bool count_section(struct importer *im, uint32_t line)
{
	if (im->n < SECTIONS) {
		im->n++;
		return true;
	}
	diag_add(im->diags, DIAG_ERROR, im->file, line,
		 "there are more than %u settings; import them from several files", SECTIONS);
	return false;
}

/* ---- CRI-O ---- */

/* enable, disable, max_latency:N as CRI-O reads them (internal/runtimehandlerhooks). */
static int crio_limit(const char *value, uint64_t *ret_ns)
{
	static const char prefix[] = "max_latency:";
	uint64_t us;

	if (streq(value, "enable"))
		*ret_ns = LATENCY_NONE;
	else if (streq(value, "disable"))
		*ret_ns = 0;
	else if (strncmp(value, prefix, strlen(prefix)) == 0 &&
		 units_parse_u64(value + strlen(prefix), 1, LATENCY_MAX_NS / NSEC_PER_USEC, &us) ==
			 0)
		*ret_ns = us * NSEC_PER_USEC;
	else
		return -EINVAL;
	return 0;
}

/* What stands behind the key, without quotes of YAML and JSON. */
static char *crio_value(char *at)
{
	at += strspn(at, " \t\"':=");
	at[strcspn(at, "\"',} \t\r")] = '\0';
	return at;
}

static void crio_line(struct importer *im, uint32_t line, char *text)
{
	char *at = strstr(text, ".crio.io"), *key = at, ns[LATENCY_TEXT_MAX];
	uint64_t limit;

	if (!at || text[strspn(text, " \t")] == '#')
		return;
	while (key > text && !strchr(" \t\"'{,", key[-1]))
		key--;
	if (strncmp(key, CRIO_KEY, strlen(CRIO_KEY)) != 0) {
		import_comment(im, &im->rest, line, key, "not kept: cpuidled sets nothing like it");
		return;
	}
	at = crio_value(key + strlen(CRIO_KEY));
	if (crio_limit(at, &limit) < 0) {
		diag_add(im->diags, DIAG_ERROR, im->file, line,
			 CRIO_KEY " has '%s'; CRI-O knows enable, disable and max_latency:N with N "
				  "from 1 on, in microseconds",
			 at);
		return;
	}
	if (!count_section(im, line))
		return;
	buf_printf(&im->rest, "# %s:%u: " CRIO_KEY "=%s\n[Profile crio-%u]\nLatencyLimit=%s\n",
		   im->file, line, at, im->n, units_format_latency(limit, ns, sizeof(ns)));
	buf_printf(&im->rest,
		   "# Whose it is is known when the container runs:\n"
		   "#[Workload crio-%u]\n#Container=ID\n#Profile=crio-%u\n",
		   im->n, im->n);
}

/* ---- pepc ---- */

struct pepc {
	const char *cpus, *disable, *enable, *latency;
	char odd[LINE_BYTES]; /* options that are not kept */
};

static uint32_t split(char *text, char **words)
{
	uint32_t n = 0;
	char *word;

	while (n < LINE_WORDS && (word = strsep(&text, " \t\r")))
		if (*word)
			words[n++] = word;
	return n;
}

/* "--option value" and "--option=value"; the value moves *at on. */
static const char *option(char **words, uint32_t n, uint32_t *at, const char *name)
{
	size_t len = strlen(name);

	if (*at >= n || !words[*at] || strncmp(words[*at], name, len) != 0)
		return NULL;
	if (words[*at][len] == '=')
		return words[*at] + len + 1;
	return !words[*at][len] && *at + 1 < n ? words[++*at] : NULL;
}

static void read_options(char **words, uint32_t n, struct pepc *p)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *v;
		size_t used = strlen(p->odd);

		if ((v = option(words, n, &i, "--cpus")))
			p->cpus = v;
		else if ((v = option(words, n, &i, "--disable")))
			p->disable = v;
		else if ((v = option(words, n, &i, "--enable")))
			p->enable = v;
		else if ((v = option(words, n, &i, "--latency-limit")))
			p->latency = v;
		else
			snprintf(p->odd + used, sizeof(p->odd) - used, "%s%s", used ? " " : "",
				 words[i]);
	}
}

/* A list that a line of policy can hold as it is: no shell in it, nothing that means all states. */
static bool plain(const char *list)
{
	return !list || (strlen(list) <= LIST_BYTES && !strpbrk(list, "\"'$`;&|<>\\#()") &&
			 strcasecmp(list, "all") != 0);
}

/* --cpus in pepc's own spelling, which is the selector's: numbers, ranges, all. */
static bool plain_cpus(struct importer *im, uint32_t line, const char *cpus)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	char error[256];

	if (!cpus || selector_new(cpus, &s, error, sizeof(error)) == 0)
		return true;
	diag_add(im->diags, DIAG_ERROR, im->file, line, "--cpus %s: %s", cpus, error);
	return false;
}

static void put_states(struct buf *b, const char *key, const char *list)
{
	buf_printf(b, "%s=", key);
	for (; *list; list++)
		buf_add(b, *list == ',' ? " " : list, 1);
	buf_puts(b, "\n");
}

/* The group and its profile. All CPUs without --cpus, as pepc has it. */
static void put_pepc(struct importer *im, uint32_t line, const struct pepc *p)
{
	uint64_t limit = LATENCY_NONE;
	char ns[LATENCY_TEXT_MAX];
	struct buf *b = &im->rest;

	/* pepc takes 0 for what the kernel's file does: no limit. */
	if (p->latency && units_parse_latency(p->latency, &limit) < 0) {
		diag_add(im->diags, DIAG_ERROR, im->file, line,
			 "--latency-limit %s is no latency; write one such as 100us", p->latency);
		return;
	}
	if (!plain_cpus(im, line, p->cpus) || !count_section(im, line))
		return;
	buf_printf(b, "[Profile pepc-%u]\n", im->n);
	if (p->latency)
		buf_printf(b, "LatencyLimit=%s\n",
			   units_format_latency(limit < NSEC_PER_USEC ? LATENCY_NONE : limit, ns,
						sizeof(ns)));
	if (p->disable)
		put_states(b, "DisableStates", p->disable);
	if (p->enable)
		put_states(b, "EnableStates", p->enable);
	buf_printf(b, "[Group pepc-%u]\nCPUs=%s\nProfile=pepc-%u\n", im->n,
		   p->cpus ? p->cpus : "all", im->n);
}

static void pepc_line(struct importer *im, uint32_t line, char *text)
{
	char *words[LINE_WORDS], whole[LINE_BYTES];
	struct pepc p = {.cpus = NULL};
	uint32_t n, at = 0;
	bool known;

	snprintf(whole, sizeof(whole), "%s", text + strspn(text, " \t"));
	n = split(text, words);
	if (n == 0 || words[0][0] == '#')
		return;
	while (at < n && !streq(words[at], "pepc"))
		at++;
	known = at + 2 < n && streq(words[at + 2], "config") &&
		(streq(words[at + 1], "pmqos") || streq(words[at + 1], "cstates"));
	if (known)
		read_options(words + at + 3, n - at - 3, &p);
	if (!known || !(p.latency || p.disable || p.enable) || *p.odd || !plain(p.disable) ||
	    !plain(p.enable) || !plain(p.latency)) {
		import_comment(im, &im->rest, line, whole,
			       "not kept: only pmqos config --latency-limit and cstates config "
			       "--disable, --enable, each with --cpus, can be");
		return;
	}
	import_comment(im, &im->rest, line, whole,
		       p.enable	   ? "kept; what others disabled is not enabled by it"
		       : p.latency ? "kept; below 1us pepc sets no limit, and so does this"
				   : "kept");
	put_pepc(im, line, &p);
}

/* ---- lines ---- */

int import_lines(struct importer *im, enum import_format format, const char *bytes, size_t n)
{
	uint32_t line = 0;

	for (size_t at = 0; at < n;) {
		const char *end = memchr(bytes + at, '\n', n - at);
		size_t length = end ? (size_t)(end - bytes) - at : n - at;
		char text[LINE_BYTES];

		line++;
		if (length >= sizeof(text)) {
			diag_add(im->diags, DIAG_ERROR, im->file, line,
				 "this line has %zu bytes; %u are the most", length,
				 LINE_BYTES - 1);
		} else {
			memcpy(text, bytes + at, length);
			text[length] = '\0';
			if (format == IMPORT_CRIO)
				crio_line(im, line, text);
			else
				pepc_line(im, line, text);
		}
		at += length + 1;
	}
	return 0;
}
