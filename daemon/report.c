/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#define KNOB_NAME_MAX 40U
#define CPUS_TEXT_MAX 200U

/* Tells equal changes apart by more than their values: profile, verdict. */
struct tagged {
	const struct changes *c;
	uint32_t (*tag)(const struct tagged *t, uint32_t i);
	const void *data;
};

/* One line in the making. */
struct line {
	const struct change *c;
	uint32_t tag;
	char cpus[CPUS_TEXT_MAX];
	char knob[KNOB_NAME_MAX];
	char old[LATENCY_TEXT_MAX], new[LATENCY_TEXT_MAX];
};

const char *report_value(uint8_t kind, uint64_t value, char *buf)
{
	if (kind != KNOB_DISABLE && kind != KNOB_HOST)
		return units_format_latency(value, buf, LATENCY_TEXT_MAX);
	snprintf(buf, LATENCY_TEXT_MAX, "%" PRIu64, value);
	return buf;
}

static bool equal(const struct change *a, const struct change *b)
{
	return a->kind == b->kind && a->state == b->state && a->from == b->from && a->to == b->to;
}

/* All CPUs whose change equals the one at first; they are marked as told. Returns how many. */
static uint32_t gather(const struct tagged *t, uint32_t first, struct cpuset *told,
		       struct cpuset *cpus)
{
	uint32_t tag = t->tag(t, first), n = 0;

	cpuset_clear(cpus);
	for (uint32_t i = first; i < t->c->n; i++) {
		if (!equal(&t->c->v[i], &t->c->v[first]) || t->tag(t, i) != tag)
			continue;
		cpuset_add(cpus, t->c->v[i].cpu);
		cpuset_add(told, i);
		n++;
	}
	return n;
}

static void tell(const struct report *to, const struct tagged *t, uint32_t i,
		 const struct cpuset *cpus,
		 void (*say)(const struct report *, const struct line *, const void *))
{
	const struct change *c = &t->c->v[i];
	struct line line = {.c = c, .tag = t->tag(t, i)};

	if (knob_is_of_cpu(c->kind))
		cpuset_format(cpus, line.cpus, sizeof(line.cpus));
	host_knob_name(c, line.knob, sizeof(line.knob));
	report_value(c->kind, c->from, line.old);
	report_value(c->kind, c->to, line.new);
	say(to, &line, t->data);
}

/* Calls say once for each group of equal changes; the last line counts what is not told. */
static void each_group(const struct report *to, const struct tagged *t,
		       void (*say)(const struct report *, const struct line *, const void *))
{
	struct cpuset told = {.size = 0}, cpus = {.size = 0};
	uint32_t lines = 0, n_told = 0;

	/* One bit per change; a list has at most some ten thousand. Without memory: the count alone. */
	if (cpuset_init(&told, MIN_OF(t->c->n, CPU_MAX)) == 0 && cpuset_init(&cpus, CPU_MAX) == 0) {
		for (uint32_t i = 0; i < told.size && lines < REPORT_LINES_MAX; i++) {
			if (cpuset_has(&told, i))
				continue;
			n_told += gather(t, i, &told, &cpus);
			tell(to, t, i, &cpus, say);
			lines++;
		}
	}
	if (n_told < t->c->n)
		log_info(LOG_ID_NONE, "and %u more files", t->c->n - n_told);
	cpuset_done(&told);
	cpuset_done(&cpus);
}

static void told(const struct report *to, const char *what, const char *detail)
{
	if (to->told)
		to->told(to->data, what, detail);
}

/* "CPUs 0-3: " or nothing for what belongs to no CPU; buf has CPUS_TEXT_MAX + 8. */
static const char *prefix(const struct line *line, char *buf)
{
	const char *word = strpbrk(line->cpus, "-,") ? "CPUs" : "CPU";

	if (!knob_is_of_cpu(line->c->kind))
		buf[0] = '\0';
	else
		snprintf(buf, CPUS_TEXT_MAX + 8, "%s %s: ", word, line->cpus);
	return buf;
}

static struct log_entry entry_of(const struct line *line, enum log_id id, int priority)
{
	return (struct log_entry){
		.id = id,
		.priority = priority,
		.cpus = knob_is_of_cpu(line->c->kind) ? line->cpus : NULL,
		.knob = line->knob,
		.old = line->old,
		.new = line->new,
	};
}

/* ---- kept by the module ---- */

/* The states of a set by number, as stateN is; the names are the plan's to tell. */
static void add_set(char *buf, size_t size, uint8_t own_row, const char *what, uint32_t set)
{
	size_t n = strlen(buf);

	if (set == 0)
		return;
	n += (size_t)snprintf(buf + n, size - n, ", %s", what);
	for (uint32_t i = 0; i < MACHINE_STATES_MAX && n < size; i++)
		if (set & 1U << i)
			n += (size_t)snprintf(buf + n, size - n, " state%u",
					      machine_file_of(own_row, i));
}

static void add_wait(char *buf, size_t size, const char *what, uint8_t wait)
{
	size_t n = strlen(buf);

	if (wait != C0_WAIT_NONE)
		snprintf(buf + n, size - n, ", %s C0.%u", what, wait);
}

static void add_haltpoll(char *buf, size_t size, uint32_t us)
{
	size_t n = strlen(buf);
	char text[LATENCY_TEXT_MAX];

	if (us)
		snprintf(buf + n, size - n, ", haltpoll %s",
			 units_format_latency(us * NSEC_PER_USEC, text, sizeof(text)));
}

/* plan: as it is carried out by now. */
static void tell_kept(const struct report *to, const struct policy *policy, const struct plan *plan,
		      const struct plan_row *row, const struct cpuset *cpus)
{
	uint8_t own_row = plan->row ? MAX_OF(plan->own_row, 1) : 0;
	char list[CPUS_TEXT_MAX], limit[LATENCY_TEXT_MAX], detail[320] = "", text[512];

	cpuset_format(cpus, list, sizeof(list));
	units_format_latency(row->module.limit_ns, limit, sizeof(limit));
	snprintf(detail, sizeof(detail), "limit %s", limit);
	add_wait(detail, sizeof(detail), "POLL in", row->module.poll);
	add_wait(detail, sizeof(detail), "C1 in", row->module.c1);
	add_wait(detail, sizeof(detail), "own state", row->module.row);
	add_set(detail, sizeof(detail), own_row, "interrupt window on", row->module.irq_window);
	add_set(detail, sizeof(detail), own_row, "sti-mwait on", row->module.sti_mwait);
	add_set(detail, sizeof(detail), own_row, "off:", row->module.states_off);
	if (row->module.broadcast == BROADCAST_AVOID)
		add_set(detail, sizeof(detail), 0, "no state whose timer stops", 1U << 31);
	add_haltpoll(detail, sizeof(detail), row->module.haltpoll_us);
	if (row->module.ioport_direct)
		add_set(detail, sizeof(detail), 0, "SystemIO by the port alone", 1U << 31);
	snprintf(text, sizeof(text), "CPU%s %s: %s (profile %s)", strpbrk(list, "-,") ? "s" : "",
		 list, detail, policy->profiles[row->profile].name);
	log_entry(&(struct log_entry){.id = LOG_ID_APPLIED,
				      .priority = LOG_INFO,
				      .cpus = list,
				      .knob = "cpuidle_policy",
				      .new = detail,
				      .profile = policy->profiles[row->profile].name},
		  "kept by cpuidle_policy for %s", text);
	told(to, "module", text);
}

void report_module(const struct report *to, const struct policy *policy, const struct plan *plan)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < plan->n_rows; i++) {
		const struct plan_module *kept = &plan->rows[i].module;
		_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};

		if (kept->limit_ns == LATENCY_NONE && module_row_is_default(kept))
			continue;
		if (lines++ >= REPORT_LINES_MAX || plan_row_cpus(plan, i, &cpus) < 0)
			continue;
		tell_kept(to, policy, plan, &plan->rows[i], &cpus);
	}
	if (lines > REPORT_LINES_MAX)
		log_info(LOG_ID_NONE, "and %u more rows", lines - REPORT_LINES_MAX);
	if (lines == 0)
		log_info(LOG_ID_APPLIED, "cpuidle_policy keeps nothing for us any more");
}

/* ---- applied ---- */

struct applied {
	const struct policy *policy;
	const struct plan *plan;
};

#define TAG_HOLD (UINT32_MAX - 1) /* a limit that a hold brought */

static uint32_t tag_profile(const struct tagged *t, uint32_t i)
{
	const struct applied *a = t->data;
	const struct plan_row *row = plan_row_of(a->plan, t->c->v[i].cpu);

	if (row && t->c->v[i].kind == KNOB_QOS && row->limit_source == LIMIT_HOLD)
		return TAG_HOLD;
	return row && knob_is_of_cpu(t->c->v[i].kind) ? row->profile : UINT32_MAX;
}

static void say_applied(const struct report *to, const struct line *line, const void *data)
{
	const struct applied *a = data;
	const char *profile =
		line->tag < a->policy->n_profiles ? a->policy->profiles[line->tag].name : NULL;
	struct log_entry e = entry_of(line, LOG_ID_APPLIED, LOG_INFO);
	char start[CPUS_TEXT_MAX + 8], text[LOG_MESSAGE_MAX];

	snprintf(text, sizeof(text), "%s%s %s -> %s%s%s%s", prefix(line, start), line->knob,
		 line->old, line->new, profile ? " (profile " : "", profile ? profile : "",
		 profile		 ? ")"
		 : line->tag == TAG_HOLD ? " (a hold)"
					 : "");
	e.profile = profile;
	log_entry(&e, "%s", text);
	told(to, "applied", text);
}

void report_applied(const struct report *to, const struct policy *policy, const struct plan *plan,
		    const struct changes *c)
{
	struct applied a = {.policy = policy, .plan = plan};
	struct tagged t = {.c = c, .tag = tag_profile, .data = &a};

	each_group(to, &t, say_applied);
}

/* ---- restored ---- */

static uint32_t tag_none(const struct tagged *t _unused_, uint32_t i _unused_)
{
	return 0;
}

static void say_restored(const struct report *to, const struct line *line,
			 const void *data _unused_)
{
	struct log_entry e = entry_of(line, LOG_ID_RESTORED, LOG_INFO);
	char start[CPUS_TEXT_MAX + 8], text[LOG_MESSAGE_MAX];

	snprintf(text, sizeof(text), "%s%s back from %s to %s", prefix(line, start), line->knob,
		 line->old, line->new);
	log_entry(&e, "%s", text);
	told(to, "restored", text);
}

void report_restored(const struct report *to, const struct changes *c)
{
	struct tagged t = {.c = c, .tag = tag_none};

	each_group(to, &t, say_restored);
}

/* ---- foreign ---- */

static uint32_t tag_verdict(const struct tagged *t, uint32_t i)
{
	return ((const uint8_t *)t->data)[i];
}

static int verdict_priority(enum foreign_verdict verdict)
{
	switch (verdict) {
	case VERDICT_SAME:
	case VERDICT_ADOPTED:
		return LOG_INFO;
	case VERDICT_REASSERT:
	case VERDICT_YIELDED:
		return LOG_WARNING;
	case VERDICT_ALERT:
	case VERDICT_TOO_OFTEN:
	case VERDICT_N:
		break;
	}
	return LOG_ERR;
}

static void say_foreign(const struct report *to, const struct line *line, const void *data _unused_)
{
	enum foreign_verdict verdict = line->tag;
	bool left = verdict != VERDICT_ADOPTED && verdict != VERDICT_REASSERT;
	struct log_entry e = entry_of(line, left ? LOG_ID_FOREIGN_LEFT : LOG_ID_FOREIGN,
				      verdict_priority(verdict));
	char start[CPUS_TEXT_MAX + 8], text[LOG_MESSAGE_MAX];

	snprintf(text, sizeof(text), "%ssomebody set %s from %s to %s; %s", prefix(line, start),
		 line->knob, line->old, line->new, foreign_verdict_text(verdict));
	log_entry(&e, "%s", text);
	told(to, "foreign-write", text);
}

void report_foreign(const struct report *to, const struct changes *c, const uint8_t *verdicts)
{
	struct tagged t = {.c = c, .tag = tag_verdict, .data = verdicts};

	each_group(to, &t, say_foreign);
}

/* ---- failures and diagnostics ---- */

const char *report_failure(const struct transition_result *r, char *buf, size_t size)
{
	char path[HOST_PATH_MAX], found[LATENCY_TEXT_MAX], wanted[LATENCY_TEXT_MAX], left[64] = "";

	host_knob_path(&r->at, path, sizeof(path));
	if (r->n_left)
		snprintf(left, sizeof(left), ", but %u files could not be", r->n_left);
	switch (r->step) {
	case STEP_DONE:
		buf[0] = '\0';
		break;
	case STEP_RECORD:
		snprintf(buf, size,
			 "cannot write " RESTORE_FILE
			 ": %s; nothing is changed without a record of what was before",
			 strerror(-r->error));
		break;
	case STEP_APPLY:
		snprintf(buf, size,
			 "cannot write %s: %s; everything written before it was put back%s", path,
			 strerror(-r->error), left);
		break;
	case STEP_MODULE:
		snprintf(buf, size, "%s; everything was put back%s", r->words, left);
		break;
	case STEP_VERIFY:
		if (r->error == -ESTALE)
			snprintf(buf, size,
				 "%s reads %s after %s was written; everything was put back%s",
				 path, report_value(r->at.kind, r->found, found),
				 report_value(r->at.kind, r->at.to, wanted), left);
		else
			snprintf(buf, size, "cannot read %s back: %s; everything was put back%s",
				 path, strerror(-r->error), left);
		break;
	}
	return buf;
}

static int diag_priority(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_ERROR:
		return LOG_ERR;
	case DIAG_WARNING:
		return LOG_WARNING;
	case DIAG_INFO:
		break;
	}
	return LOG_INFO;
}

size_t report_diags(const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];
		char text[LOG_MESSAGE_MAX];
		struct log_entry e = {
			.id = LOG_ID_POLICY,
			.priority = diag_priority(d->severity),
			.file = d->file,
			.line = d->line,
		};

		diag_format(d, text, sizeof(text));
		log_entry(&e, "%s", text);
	}
	if (diags->dropped)
		log_warning(LOG_ID_POLICY, "%zu more diagnostics are not shown", diags->dropped);
	return diags->n_errors;
}
