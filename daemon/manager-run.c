/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>

#include "manager-private.h"

/* ---- words ---- */

void manager_because(struct manager *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(m->why, sizeof(m->why), fmt, args);
	va_end(args);
}

void manager_tell(const struct manager *m, const char *what, const char *detail)
{
	if (m->hooks.changed)
		m->hooks.changed(m->hooks_data, what, detail, m->why);
}

static void on_told(void *data, const char *what, const char *detail)
{
	manager_tell(data, what, detail);
}

struct report manager_reporter(struct manager *m)
{
	return (struct report){.told = on_told, .data = m};
}

/* ---- the pipeline ---- */

/* Plan and differences again, for a machine that turned out otherwise than it was planned for. */
static int plan_again(const struct manager *m, const struct policy *policy,
		      const struct machine *machine, struct reload_result *res)
{
	struct changes changes = {.n = 0};
	struct plan *plan;
	int r = plan_resolve(policy, machine, &m->holds, NULL, &plan);

	if (r < 0)
		return r;
	r = diff_make(plan, machine, m->host.global_ns, &changes);
	if (r < 0) {
		plan_free(plan);
		return r;
	}
	plan_free(res->plan);
	changes_done(&res->changes);
	res->plan = plan;
	res->changes = changes;
	return 0;
}

/* Reads one file into the machine as what others ask for. True when it was not so before. */
static bool adopt_file(const struct manager *m, struct machine *machine, struct change *c)
{
	struct foreign uncounted = {.n_cpus = 0};
	uint64_t found;

	if (c->kind == KNOB_GLOBAL || c->cpu >= machine->n_cpus ||
	    m->transition.actuator.ops->get(m->transition.actuator.data, c, &found) < 0)
		return false;
	return foreign_judge(&uncounted, FOREIGN_YIELD, machine, c, found, LATENCY_NONE, 0) !=
	       VERDICT_SAME;
}

/*
 * Files that are watched only from now on may have been written since they were read: look at them before
 * anything is written there.
 */
static int follow(struct manager *m, const struct policy *policy, struct machine *machine,
		  struct reload_result *res)
{
	bool changed = false;
	struct change c;

	if (m->watch.fd >= 0 && res->machine)
		watch_renew(&m->watch);
	if (m->watch.fd < 0 || watch_follow(&m->watch, res->plan) == 0)
		return 0;
	while (watch_take(&m->watch, &c))
		changed |= adopt_file(m, machine, &c);
	if (!changed)
		return 0;
	(void)foreign_forget(machine);
	return plan_again(m, policy, machine, res);
}

static void take_over(struct manager *m, struct reload_result *res)
{
	if (res->machine) {
		manager_hotplug_tell(m, res->machine);
		machine_free(m->machine);
		m->machine = TAKE_PTR(res->machine);
		m->needs = res->needs;
	}
	if (res->policy) {
		policy_free(m->policy);
		m->policy = TAKE_PTR(res->policy);
	}
	plan_free(m->plan);
	m->plan = TAKE_PTR(res->plan);
	manager_verify_follow(m);
}

/* The new policy was not taken; what was learnt of the machine is kept where it can be. */
static void keep_facts(struct manager *m, struct reload_result *res)
{
	if (!res->machine || plan_again(m, m->policy, res->machine, res) < 0)
		return;
	policy_free(res->policy);
	res->policy = NULL;
	take_over(m, res);
}

/* The module is gone, not ours any more, or sits on another table: what it can do for us has changed. */
static bool module_is_other(const struct manager *m, const struct transition_result *done)
{
	return done->step == STEP_MODULE &&
	       (done->error == -ESTALE || kernel_standing(m->kernel) != KERNEL_OURS);
}

static int note_failure(struct manager *m, const struct transition_result *done,
			struct reload_result *res)
{
	char text[MANAGER_ERROR_MAX], cpu[16], knob[48];
	bool on_file = done->step == STEP_APPLY || done->step == STEP_VERIFY;
	struct log_entry e = {.id = LOG_ID_APPLY_FAILED, .priority = LOG_ERR};

	manager_set_error(m, report_failure(done, text, sizeof(text)));
	if (on_file) {
		snprintf(cpu, sizeof(cpu), "%u", done->at.cpu);
		e.cpus = knob_is_of_cpu(done->at.kind) ? cpu : NULL;
		e.knob = host_knob_name(&done->at, knob, sizeof(knob));
	}
	log_entry(&e, "%s", text);
	manager_tell(m, "failed", text);
	/* A file that is gone or holds another value: what is known of the host is out of date. */
	m->again = module_is_other(m, done);
	m->declined = done->step == STEP_MODULE && !m->again;
	m->declined_row = res->plan->row != C0_WAIT_NONE;
	if (m->declined)
		snprintf(m->refused_text, sizeof(m->refused_text), "%s", done->words);
	m->stale = m->stale || done->n_left || m->again || done->error == -ENOENT ||
		   done->error == -ENODEV || (done->error == -ESTALE && m->watch.fd < 0);
	if (m->policy && res->policy) {
		/* The old policy still stands unless the way back failed, too. */
		m->failed = m->failed || done->n_left > 0;
		keep_facts(m, res);
	} else {
		m->failed = true;
		take_over(m, res);
	}
	if (done->step == STEP_VERIFY && m->watch.fd >= 0)
		manager_look_soon(m);
	return done->error;
}

/* The module's own state came or went with what was just set. */
static bool row_moved(const struct manager *m, const struct machine *machine)
{
	int own_row = m->kernel ? kernel_own_row(m->kernel) : -1;

	return own_row >= 0 && own_row != machine->own_row;
}

/* Carries one result of the pipeline out. */
static int carry_out(struct manager *m, struct reload_result *res)
{
	struct machine *machine = res->machine ? res->machine : m->machine;
	const struct policy *policy = res->policy ? res->policy : m->policy;
	struct report report = manager_reporter(m);
	_cleanup_(module_rows_done) struct module_rows want = {.n_cpus = 0};
	struct transition_result done;
	bool own_driver;
	int r = 0;

	if (res->changes.n > 0 && manager_look_first(m, policy, machine))
		r = plan_again(m, policy, machine, res);
	if (r == 0)
		r = follow(m, policy, machine, res);
	if (r < 0)
		return r;
	r = module_rows_make(res->plan, &want);
	if (r < 0)
		return r;
	own_driver = m->kernel && kernel_have(m->kernel)->own_driver;
	r = transition_run(&m->transition, machine, &res->changes, &want, &done);
	if (r < 0)
		return note_failure(m, &done, res);
	/* With another driver the host has states to plan for, or none any more; or its files have moved. */
	m->again = own_driver != want.own_driver || row_moved(m, machine);
	if (done.record_error)
		log_errno(LOG_ID_HOST, done.record_error,
			  "cannot write " RESTORE_FILE " anew; the one before leads back as well");
	if (res->changes.n > 0 || done.module_changed)
		m->generation++;
	if (res->changes.n > 0)
		report_applied(&report, policy, res->plan, &res->changes);
	if (done.module_changed)
		report_module(&report, policy, res->plan);
	take_over(m, res);
	m->failed = false;
	return 0;
}

static void report_reread(const struct manager *m, const struct reload_result *res)
{
	char text[128];

	if (!res->n_foreign)
		return;
	snprintf(text, sizeof(text),
		 "%u files of ours were written by somebody else while nobody looked; taken as "
		 "what others ask for",
		 res->n_foreign);
	log_notice(LOG_ID_FOREIGN, "%s", text);
	manager_tell(m, "foreign-write", text);
}

static int run(struct manager *m, const struct source_options *source,
	       const struct restore_record *left, struct diag_list *diags)
{
	struct machine_module module;
	const struct reload_input in = {
		.root_fd = m->root_fd,
		.host = &m->host,
		.source = source,
		.policy = m->policy,
		.machine = m->machine,
		.needs = m->needs,
		.module = &module,
		.holds = &m->holds,
		.cgroups = &m->cgroups,
		.left = left,
		.stale = m->stale,
	};
	struct reload_result res = {.needs = 0};
	int r;

	manager_module_describe(m, &module);
	r = reload_run(&in, diags, &res);
	if (diags)
		report_diags(diags);
	if (r < 0)
		return r;
	report_reread(m, &res);
	if (res.machine)
		m->stale = false;
	/* Said to others before: with a new policy or new settings everybody starts afresh. */
	if (source && foreign_forget(res.machine ? res.machine : m->machine) > 0)
		r = plan_again(m, res.policy, res.machine ? res.machine : m->machine, &res);
	if (r == 0)
		r = carry_out(m, &res);
	reload_done(&res);
	return r;
}

static int run_twice(struct manager *m, const struct source_options *source,
		     const struct restore_record *left, struct diag_list *diags)
{
	int r;

	m->again = m->declined = false;
	r = run(m, source, left, diags);
	if (m->machine && (m->again || ((r == -ENOENT || r == -ENODEV) && m->stale))) {
		m->stale = true;
		m->declined = false;
		r = run(m, r < 0 ? source : NULL, NULL, NULL);
	}
	return r;
}

/* Without what the module has just refused; said to whoever asked. */
static void do_without(struct manager *m, struct diag_list *diags)
{
	bool row = m->declined_row && m->refused == REFUSED_NOTHING;

	m->refused = row ? REFUSED_ROW : REFUSED_ALL;
	if (diags)
		diag_add(diags, DIAG_WARNING, NULL, 0, "%s; %s until it does not", m->refused_text,
			 row ? "C0.x goes without a state of its own"
			     : "the host's files carry what they can");
}

int manager_run_again(struct manager *m)
{
	int r = manager_run(m, NULL, NULL, NULL);

	if (r < 0)
		m->failed = true;
	manager_settle_state(m);
	manager_publish(m, "");
	(void)malloc_trim(0);
	return r;
}

int manager_run(struct manager *m, const struct source_options *source,
		const struct restore_record *left, struct diag_list *diags)
{
	int r;

	if (source)
		m->refused = REFUSED_NOTHING;
	r = run_twice(m, source, left, diags);
	while (r < 0 && m->declined && m->machine && m->refused != REFUSED_ALL) {
		do_without(m, diags);
		r = run_twice(m, source, NULL, NULL);
	}
	/* With another plan a veto may have lost its ground. */
	if (r == 0 && manager_guard_follow(m)) {
		r = run(m, NULL, NULL, NULL);
		if (r == 0)
			(void)manager_guard_follow(m);
	}
	manager_workload_follow(m);
	/* What others wrote meanwhile: telling our own writes apart has read those events, too. */
	if (watch_pending(&m->watch))
		manager_look_soon(m);
	return r;
}
