/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "manager-private.h"

#include "lock.h"
#include "sysfs.h"

#define USEC_PER_SEC UINT64_C(1000000)
#define SETTLE_USEC  UINT64_C(10000) /* foreign writes come in bursts: wait this long, look once */
#define RETRY_USEC   USEC_PER_SEC /* first pause; doubles */
#define RETRY_MAX    (300 * USEC_PER_SEC)

/* ---- plain answers ---- */

enum manager_state manager_state(const struct manager *m)
{
	return m->state;
}

const char *manager_state_name(enum manager_state state)
{
	switch (state) {
	case MANAGER_START:
		return "START";
	case MANAGER_ACTIVE:
		return "ACTIVE";
	case MANAGER_DEGRADED:
		return "DEGRADED";
	case MANAGER_RESTORING:
		break;
	}
	return "RESTORING";
}

const struct policy *manager_policy(const struct manager *m)
{
	return m->policy;
}

const struct machine *manager_machine(const struct manager *m)
{
	return m->machine;
}

const struct plan *manager_plan(const struct manager *m)
{
	return m->plan;
}

uint64_t manager_generation(const struct manager *m)
{
	return m->generation;
}

uint64_t manager_foreign_writes(const struct manager *m)
{
	return m->foreign_writes;
}

const char *manager_last_error(const struct manager *m)
{
	return m->last_error;
}

struct sd_event *manager_event(const struct manager *m)
{
	return m->event;
}

const char *manager_root(const struct manager *m)
{
	return m->options->root ? m->options->root : "/";
}

void manager_set_hooks(struct manager *m, const struct manager_hooks *hooks, void *data)
{
	m->hooks = hooks ? *hooks : (struct manager_hooks){.changed = NULL};
	m->hooks_data = data;
}

/* ---- what the outside sees of the state ---- */

static uint32_t count_limited(const struct plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; plan && i < plan->n_rows; i++)
		if (plan->rows[i].policy_limit_ns != LATENCY_NONE)
			n += plan->rows[i].n_cpus;
	return n;
}

static uint32_t count_cpus(const struct plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; plan && i < plan->n_rows; i++)
		n += plan->rows[i].n_cpus;
	return n;
}

/* STATUS= and the bus's properties follow the state; before says a notification in front of it. */
void manager_publish(const struct manager *m, const char *before)
{
	sd_notifyf(0, "%sSTATUS=%s: %u of %u CPUs limited, generation %" PRIu64 "%s%s", before,
		   manager_state_name(m->state), count_limited(m->plan), count_cpus(m->plan),
		   m->generation, m->last_error[0] ? "; " : "", m->last_error);
	if (m->hooks.properties)
		m->hooks.properties(m->hooks_data);
}

static void enter(struct manager *m, enum manager_state state)
{
	struct log_entry e = {
		.id = LOG_ID_STATE,
		.priority = state == MANAGER_DEGRADED ? LOG_WARNING : LOG_INFO,
		.state = manager_state_name(state),
	};

	if (m->state == state)
		return;
	m->state = state;
	log_entry(&e, "%s%s%s", manager_state_name(state), m->last_error[0] ? ": " : "",
		  state == MANAGER_DEGRADED ? m->last_error : "");
	if (m->hooks.changed)
		m->hooks.changed(m->hooks_data, "state", manager_state_name(state),
				 state == MANAGER_DEGRADED ? m->last_error : m->why);
}

void manager_set_error(struct manager *m, const char *text)
{
	snprintf(m->last_error, sizeof(m->last_error), "%s", text);
}

static void arm(sd_event_source *timer, uint64_t usec)
{
	if (!timer)
		return;
	(void)sd_event_source_set_time_relative(timer, usec);
	(void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* Judges where we are after each way through the pipeline, and when to try again. */
void manager_settle_state(struct manager *m)
{
	uint32_t looser = 0;
	char text[96];

	if (m->plan && m->policy->on_foreign_write != FOREIGN_YIELD)
		looser = foreign_count_looser(m->machine, m->plan);
	if (looser && !m->failed) {
		snprintf(text, sizeof(text), "%u files hold looser values of others", looser);
		manager_set_error(m, text);
	}
	if (m->refused && !m->failed)
		manager_set_error(m, m->refused_text);
	if (!m->failed && !looser && !m->refused)
		m->last_error[0] = '\0';
	if (!m->failed && !m->refused)
		m->retries = 0;
	enter(m, m->failed || looser || m->refused ? MANAGER_DEGRADED : MANAGER_ACTIVE);
	if (m->failed || m->refused)
		arm(m->retry, MIN_OF(RETRY_USEC << MIN_OF(m->retries, 10U), RETRY_MAX));
	else if (looser && m->policy->on_foreign_write == FOREIGN_REASSERT)
		arm(m->retry, FOREIGN_WINDOW_NS / NSEC_PER_USEC);
	else if (m->retry)
		(void)sd_event_source_set_enabled(m->retry, SD_EVENT_OFF);
}

static struct source_options source_of(const struct manager *m, const char *settings)
{
	return (struct source_options){
		.root = manager_root(m),
		.policy = m->options->policy,
		.extra_name = settings ? "run-time settings" : NULL,
		.extra = settings,
	};
}

/* ---- reload and run-time settings ---- */

static int take_policy(struct manager *m, const char *settings, const char *what,
		       struct diag_list *diags)
{
	struct source_options source = source_of(m, settings);
	struct diag_list found = {.n = 0};
	uint64_t before = m->generation;
	char text[96];
	int r;

	manager_because(m, "%s", what);
	r = manager_run(m, &source, NULL, &found);
	snprintf(text, sizeof(text), "%s %s%s", what,
		 r == -EBADMSG ? "refused: the policy has errors"
		 : r < 0       ? "failed"
			       : "done",
		 r >= 0 && m->generation == before ? ", no change" : "");
	manager_tell(m, "reload", text);
	if (r == -EBADMSG)
		log_error(LOG_ID_RELOAD_REFUSED,
			  "%s refused: %zu errors in the policy; what was in force stays", what,
			  found.n_errors);
	else if (r < 0)
		log_errno(LOG_ID_RELOAD_REFUSED, r, "%s failed; what was in force stays", what);
	else
		log_info(LOG_ID_RELOADED, "%s done%s", what,
			 m->generation == before ? ", no change" : "");
	diag_move(diags, &found);
	diag_done(&found);
	if (r != -EBADMSG)
		manager_settle_state(m);
	(void)malloc_trim(0);
	return r;
}

int manager_reload(struct manager *m, struct diag_list *diags)
{
	struct timespec now;
	int r;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC);
	r = take_policy(m, m->settings, "reload", diags);
	manager_publish(m, "READY=1\n");
	return r;
}

int manager_set(struct manager *m, const char *text, struct diag_list *diags)
{
	char *settings = text ? strdup(text) : NULL;
	int r;

	if (text && !settings)
		return -ENOMEM;
	r = take_policy(m, settings, text ? "run-time settings" : "reset of settings", diags);
	if (r < 0) {
		free(settings);
	} else {
		free(m->settings);
		m->settings = settings;
	}
	manager_publish(m, "");
	return r;
}

void manager_look_soon(struct manager *m)
{
	arm(m->settle, SETTLE_USEC);
}

/* ---- the loop ---- */

static int on_watch(sd_event_source *s, int fd _unused_, uint32_t revents _unused_, void *userdata)
{
	struct manager *m = userdata;

	(void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
	arm(m->settle, SETTLE_USEC);
	return 0;
}

static int on_settle(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;

	manager_look(m);
	if (m->watch_source)
		(void)sd_event_source_set_enabled(m->watch_source, SD_EVENT_ON);
	return 0;
}

static int on_retry(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;

	manager_because(m, "another try");
	m->retries++;
	m->stale = true;
	m->refused = REFUSED_NOTHING;
	/* Who insisted too often gets another chance to have calmed down. */
	if (m->policy->on_foreign_write == FOREIGN_REASSERT)
		(void)foreign_forget(m->machine);
	(void)manager_run_again(m);
	return 0;
}

static int on_stop(sd_event_source *s, const struct signalfd_siginfo *si _unused_, void *userdata)
{
	(void)userdata;
	return sd_event_exit(sd_event_source_get_event(s), 0);
}

static int on_hangup(sd_event_source *s _unused_, const struct signalfd_siginfo *si _unused_,
		     void *userdata)
{
	struct diag_list diags = {.n = 0};

	(void)manager_reload(userdata, &diags);
	diag_done(&diags);
	return 0;
}

/* A timer that is off until armed. */
static int add_timer(struct manager *m, sd_event_source **ret, sd_event_time_handler_t handler)
{
	/* One millisecond of accuracy would be enough, but the default of 250 ms is not. */
	int r = sd_event_add_time(m->event, ret, CLOCK_BOOTTIME, 0, 1000, handler, m);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

static int make_loop(struct manager *m)
{
	static const struct {
		int signal;
		sd_event_signal_handler_t handler;
	} signals[] = {{SIGTERM, on_stop}, {SIGINT, on_stop}, {SIGHUP, on_hangup}};
	int r = sd_event_new(&m->event);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(signals); i++)
		r = sd_event_add_signal(m->event, &m->signals[i],
					signals[i].signal | SD_EVENT_SIGNAL_PROCMASK,
					signals[i].handler, m);
	if (r >= 0)
		r = add_timer(m, &m->settle, on_settle);
	if (r >= 0)
		r = add_timer(m, &m->retry, on_retry);
	if (r >= 0)
		r = sd_event_set_watchdog(m->event, true);
	return r < 0 ? r : 0;
}

/* Without inotify the daemon still governs, blind for what others do. */
static int start_watch(struct manager *m)
{
	int r = watch_init(&m->watch, manager_root(m), m->root_fd);

	if (r < 0) {
		log_entry(
			&(struct log_entry){.id = LOG_ID_HOST, .priority = LOG_WARNING, .error = r},
			"cannot watch for writes of others");
		return 0;
	}
	m->transition.watch = &m->watch;
	r = sd_event_add_io(m->event, &m->watch_source, m->watch.fd, EPOLLIN, on_watch, m);
	return r < 0 ? r : 0;
}

static void warn_unwatched(const struct manager *m)
{
	if (m->watch.n_failed)
		log_entry(
			&(struct log_entry){.id = LOG_ID_HOST,
					    .priority = LOG_WARNING,
					    .error = m->watch.error},
			"%u files cannot be watched for writes of others; fs.inotify.max_user_watches would have to be larger",
			m->watch.n_failed);
}

/* ---- start and end ---- */

int manager_new(const struct manager_options *o, struct manager **ret)
{
	struct manager *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->options = o;
	m->root_fd = m->lock_fd = m->watch.fd = m->cgroups.fd = -1;
	host_init(&m->host, -1);
	*ret = m;
	return 0;
}

void manager_free(struct manager *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(m->signals); i++)
		sd_event_source_unref(m->signals[i]);
	manager_module_free(m);
	manager_guard_free(m);
	manager_hold_free(m);
	manager_hotplug_free(m);
	manager_workload_free(m);
	manager_verify_free(m);
	sd_event_source_unref(m->watch_source);
	sd_event_source_unref(m->settle);
	sd_event_source_unref(m->retry);
	sd_event_unref(m->event);
	watch_done(&m->watch);
	foreign_done(&m->foreign);
	host_done(&m->host);
	policy_free(m->policy);
	plan_free(m->plan);
	machine_free(m->machine);
	free(m->settings);
	if (m->root_fd >= 0)
		close(m->root_fd);
	if (m->lock_fd >= 0)
		close(m->lock_fd);
	free(m);
}

static int open_host(struct manager *m)
{
	uint32_t pid = 0;
	int r = sysfs_open_root(manager_root(m), &m->root_fd);

	if (r < 0) {
		log_errno(LOG_ID_HOST, r, "cannot open the root directory %s", manager_root(m));
		return MANAGER_EXIT_UNAVAILABLE;
	}
	r = lock_take(m->root_fd, &m->lock_fd, &pid);
	if (r == -EWOULDBLOCK) {
		log_error(LOG_ID_HOST,
			  "another cpuidled (pid %u) governs %s; only one can: stop it first", pid,
			  manager_root(m));
		return MANAGER_EXIT_UNAVAILABLE;
	}
	if (r < 0) {
		log_errno(LOG_ID_HOST, r, "cannot take the lock " LOCK_FILE " below %s",
			  manager_root(m));
		return MANAGER_EXIT_UNAVAILABLE;
	}
	host_init(&m->host, m->root_fd);
	tally_init(&m->tally, m->root_fd);
	m->transition = (struct transition){
		.root_fd = m->root_fd,
		.host = &m->host,
		.actuator = host_actuator(&m->host),
	};
	return MANAGER_EXIT_OK;
}

/* What a dead predecessor left goes back when there is no policy to take it over. */
static void restore_leftovers(struct manager *m)
{
	struct transition_leftover leftover;
	struct transition_result done;
	int r = transition_restore(&m->transition, &leftover, &done);

	if (r < 0)
		log_errno(LOG_ID_RESTORE_FAILED, r, "cannot restore what an earlier run left");
	else if (r > 0)
		log_errno(LOG_ID_RESTORE_FAILED, done.error,
			  "%d files of an earlier run could not be restored", r);
	else if (done.n_written)
		log_notice(LOG_ID_RESTORED, "%u files an earlier run had left were restored",
			   done.n_written);
}

/* The first way through the pipeline. */
static int first_run(struct manager *m)
{
	_cleanup_(restore_done) struct restore_record left = {.n = 0};
	struct source_options source = source_of(m, NULL);
	struct diag_list diags = {.n = 0};
	int r = restore_load(m->root_fd, &left);

	manager_because(m, "start");
	if (r == -EBADMSG)
		log_warning(LOG_ID_HOST,
			    RESTORE_FILE " is damaged; what can be read of it is used");
	else if (r < 0)
		log_errno(LOG_ID_HOST, r, "cannot read " RESTORE_FILE);
	r = host_adopt(&m->host, &left.global);
	if (r < 0)
		log_errno(LOG_ID_HOST, r,
			  "cannot take " HOST_GLOBAL_PATH " over from an earlier run");
	r = manager_run(m, &source, &left, &diags);
	if (r == -EBADMSG)
		log_error(LOG_ID_RELOAD_REFUSED, "%zu errors in the policy; nothing is applied",
			  diags.n_errors);
	diag_done(&diags);
	return r;
}

static int exit_status(int r)
{
	if (r == -EBADMSG)
		return MANAGER_EXIT_REFUSED;
	return r == -ENODEV ? MANAGER_EXIT_UNAVAILABLE : MANAGER_EXIT_FAILED;
}

int manager_start(struct manager *m)
{
	int r = open_host(m);

	if (r != MANAGER_EXIT_OK)
		return r;
	if (!m->options->once) {
		r = make_loop(m);
		if (r == 0)
			r = start_watch(m);
		if (r < 0) {
			log_errno(LOG_ID_HOST, r, "cannot set the event loop up");
			return MANAGER_EXIT_FAILED;
		}
	} else {
		m->watch.fd = -1;
	}
	manager_hotplug_start(m);
	manager_module_start(m);
	r = manager_workload_start(m);
	if (r == 0)
		r = first_run(m);
	/* A plan that does not stand yet is retried; without one there is nothing to serve. */
	if (!m->plan) {
		if (r != -EBADMSG)
			log_errno(LOG_ID_HOST, r, "cannot govern %s", manager_root(m));
		restore_leftovers(m);
		return exit_status(r);
	}
	m->failed = r < 0;
	m->global_told_ns = m->machine->global_others_ns;
	manager_settle_state(m);
	warn_unwatched(m);
	(void)malloc_trim(0);
	return MANAGER_EXIT_OK;
}

/* Tells how the restoring went, in the log and to who listens; an exit status. */
static int tell_restored(struct manager *m, int n_failed, const struct transition_result *done)
{
	bool restored = n_failed == 0 && done->record_error == 0;
	char text[MANAGER_ERROR_MAX + 64], first[MANAGER_ERROR_MAX];

	if (restored)
		snprintf(text, sizeof(text), "the host has its own settings again (%u files)",
			 done->n_written);
	else if (n_failed != 0)
		snprintf(text, sizeof(text), "%d files could not be restored; the first: %s",
			 n_failed, report_failure(done, first, sizeof(first)));
	else
		snprintf(text, sizeof(text),
			 "everything is restored, but " RESTORE_FILE " cannot be removed: %s",
			 strerror(-done->record_error));
	if (restored)
		log_info(LOG_ID_RESTORED, "%s", text);
	else
		log_error(LOG_ID_RESTORE_FAILED, "%s", text);
	manager_tell(m, restored ? "applied" : "failed", text);
	return restored ? MANAGER_EXIT_OK : MANAGER_EXIT_FAILED;
}

/* Back to the host's own settings, except for what others have written since. */
static int stop(struct manager *m)
{
	struct transition_leftover leftover;
	struct transition_result done;
	int r;

	sd_notify(0, "STOPPING=1\nSTATUS=RESTORING");
	manager_because(m, "stop");
	enter(m, MANAGER_RESTORING);
	manager_look_last(m);
	/* What is known may be out of date: then as a successor would, from the record. */
	if (m->stale)
		r = transition_restore(&m->transition, &leftover, &done);
	else
		r = transition_undo(&m->transition, m->machine, &done);
	manager_module_stop(m);
	return tell_restored(m, r, &done);
}

int manager_main(struct manager *m)
{
	int r;

	manager_publish(m, "READY=1\n");
	log_info(LOG_ID_STARTED,
		 "cpuidled " CPUIDLED_VERSION " governs %u CPUs, %u of them limited",
		 count_cpus(m->plan), count_limited(m->plan));
	r = sd_event_loop(m->event);
	if (r < 0)
		log_errno(LOG_ID_STOPPING, r, "the event loop failed");
	else
		log_info(LOG_ID_STOPPING, "stopping");
	return MAX_OF(stop(m), r < 0 ? MANAGER_EXIT_FAILED : MANAGER_EXIT_OK);
}

int manager_once(struct manager *m)
{
	if (m->host.global_fd >= 0)
		log_warning(
			LOG_ID_HOST,
			"the limit on cpu_dma_latency ends with this process; only a running daemon can hold one");
	return m->failed ? MANAGER_EXIT_FAILED : MANAGER_EXIT_OK;
}
