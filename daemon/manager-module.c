/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/utsname.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "manager-private.h"

#include "missing.h"

#define SETTLE_USEC \
	UINT64_C(20000) /* the kernel's news come in bursts, and its files a little later */

/*
 * The manager's side of cpuidle_policy.ko. It is used when it is there and the lease is ours; otherwise the
 * host's files carry what they can. Whatever changes about it enters the one path, which moves what is ours
 * from the one to the other.
 */

/* ---- the seam of transition.c ---- */

static int set_rows(void *data, const struct module_rows *want)
{
	return kernel_set(data, want);
}

static int set_back(void *data)
{
	return kernel_back(data);
}

static int own_row(const void *data)
{
	return kernel_own_row(data);
}

static const char *words(const void *data)
{
	return kernel_text(data);
}

/* ---- what is known of it ---- */

/* Absent has many reasons, which the kernel does not tell. */
static void note_text(struct manager *m)
{
	struct utsname host;

	if (kernel_standing(m->kernel) == KERNEL_ABSENT && uname(&host) == 0)
		missing_why(m->root_fd, host.release, m->module_text, sizeof(m->module_text));
	else
		snprintf(m->module_text, sizeof(m->module_text), "%s", kernel_text(m->kernel));
}

const char *manager_module(const struct manager *m)
{
	return m->module_text;
}

void manager_module_describe(struct manager *m, struct machine_module *ret)
{
	*ret = (struct machine_module){.loaded = false};
	if (!m->kernel || m->refused == REFUSED_ALL)
		return;
	kernel_describe(m->kernel, ret);
	if (m->refused == REFUSED_ROW) {
		ret->c0_row = false;
		snprintf(ret->c0_row_reason, sizeof(ret->c0_row_reason), "%.*s",
			 (int)sizeof(ret->c0_row_reason) - 1, m->refused_text);
	}
}

/* CPUs for which the module keeps something, as a list. */
static char *kept_cpus(const struct module_rows *have)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};

	if (cpuset_init(&cpus, have->n_cpus + 1) < 0)
		return NULL;
	for (uint32_t cpu = 0; cpu < have->n_cpus; cpu++) {
		const struct plan_module *row = module_row_of(have, cpu);

		if (row->limit_ns != LATENCY_NONE || !module_row_is_default(row))
			cpuset_add(&cpus, cpu);
	}
	return cpuset_to_string(&cpus);
}

const struct module_rows *manager_module_kept(struct manager *m, struct cpuset *differs)
{
	if (!m->kernel || kernel_standing(m->kernel) != KERNEL_OURS)
		return NULL;
	/* Of a kernel that does not answer nothing is known. */
	if (kernel_verify(m->kernel, differs) < 0)
		cpuset_fill(differs);
	return kernel_have(m->kernel);
}

int manager_module_tell(struct manager *m, const struct cpuset *differs, struct findings *f)
{
	_cleanup_free_ char *cpus = kept_cpus(kernel_have(m->kernel));
	_cleanup_free_ char *others = cpuset_to_string(differs);
	uint32_t n = cpuset_count(differs);
	int r = 0;

	if (!cpus || !others)
		return -ENOMEM;
	if (n == CPU_MAX)
		return findings_add(f, cpus, "differs", "cpuidle_policy", kernel_text(m->kernel),
				    1);
	if (n > 0)
		r = findings_add(f, others, "differs", "cpuidle_policy",
				 "keeps something else than was set", n);
	else if (cpus[0])
		r = findings_add(f, cpus, "ok", "cpuidle_policy", "keeps what was set", 0);
	return r;
}

/* The handshake, and its outcome for the log; each outcome is told once. */
static void take(struct manager *m)
{
	char before[sizeof(m->module_text)];
	bool ours = kernel_take(m->kernel) == 0;

	memcpy(before, m->module_text, sizeof(before));
	note_text(m);
	if (streq(before, m->module_text))
		return;
	manager_tell(m, "backend", m->module_text);
	if (ours)
		log_info(LOG_ID_MODULE, "%s; governs together with the host's files",
			 m->module_text);
	else
		log_entry(&(struct log_entry){.id = LOG_ID_MODULE,
					      .priority =
						      kernel_standing(m->kernel) == KERNEL_ABSENT
							      ? LOG_INFO
							      : LOG_WARNING},
			  "%s; the host's files alone are used", m->module_text);
}

/* ---- the loop ---- */

static void run_again(struct manager *m)
{
	m->stale = true;
	m->refused = REFUSED_NOTHING; /* there is something new to be asked */
	(void)manager_run_again(m);
}

static void lost(struct manager *m)
{
	/* What just happened says more than what can be seen of it now. */
	snprintf(m->module_text, sizeof(m->module_text), "%s", kernel_text(m->kernel));
	log_warning(LOG_ID_MODULE, "%s; what it kept for us is gone, the host's files take over",
		    m->module_text);
	manager_because(m, "%s", m->module_text);
	manager_tell(m, "backend", m->module_text);
}

static int on_settle(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;

	manager_because(m, "%s",
			m->module_came ? "cpuidle_policy is there"
				       : "cpuidle_policy tells of another table or other CPUs");
	if (m->module_came)
		take(m);
	m->module_came = false;
	run_again(m);
	return 0;
}

static void settle_soon(struct manager *m)
{
	(void)sd_event_source_set_time_relative(m->module_settle, SETTLE_USEC);
	(void)sd_event_source_set_enabled(m->module_settle, SD_EVENT_ONESHOT);
}

/* What is lost is replaced at once; the rest waits for its burst to end. */
static void answer(struct manager *m, const struct kernel_news *news)
{
	m->module_came |= news->came;
	if (news->lost) {
		lost(m);
		if (m->module_came)
			take(m);
		m->module_came = false;
		run_again(m);
		return;
	}
	if (news->limits)
		manager_look_soon(m);
	if (news->came || news->host)
		settle_soon(m);
}

static int on_news(sd_event_source *s _unused_, int fd _unused_, uint32_t revents _unused_,
		   void *userdata)
{
	struct manager *m = userdata;
	struct kernel_news news;

	if (kernel_collect(m->kernel, &news))
		answer(m, &news);
	return 0;
}

static void arm_renewal(struct manager *m)
{
	(void)sd_event_source_set_time_relative(m->module_renew, KERNEL_RENEW_USEC);
	(void)sd_event_source_set_enabled(m->module_renew, SD_EVENT_ONESHOT);
}

static int on_renew(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	const struct kernel_news gone = {.lost = true, .came = true};
	struct manager *m = userdata;

	if (kernel_standing(m->kernel) == KERNEL_OURS && kernel_renew(m->kernel) < 0)
		answer(m, &gone);
	arm_renewal(m);
	return 0;
}

static int add_sources(struct manager *m)
{
	int r = sd_event_add_io(m->event, &m->module_news, kernel_fd(m->kernel), EPOLLIN, on_news,
				m);

	if (r >= 0)
		r = sd_event_add_time(m->event, &m->module_settle, CLOCK_MONOTONIC, 0, 1000,
				      on_settle, m);
	if (r >= 0)
		r = sd_event_source_set_enabled(m->module_settle, SD_EVENT_OFF);
	/* The lease stands still while the system sleeps, and so does this clock. */
	if (r >= 0)
		r = sd_event_add_time(m->event, &m->module_renew, CLOCK_MONOTONIC, 0,
				      KERNEL_RENEW_SLACK, on_renew, m);
	if (r >= 0)
		arm_renewal(m);
	return r < 0 ? r : 0;
}

/* ---- start and end ---- */

void manager_module_start(struct manager *m)
{
	int r;

	/* A recorded tree has no kernel, and a lease ends with the process that took it. */
	if (!streq(manager_root(m), "/") || m->options->once) {
		snprintf(m->module_text, sizeof(m->module_text), "not used with %s",
			 m->options->once ? "--once" : "--root");
		return;
	}
	r = kernel_new(&m->kernel);
	if (r == 0)
		r = add_sources(m);
	if (r < 0) {
		kernel_free(m->kernel);
		m->kernel = NULL;
		snprintf(m->module_text, sizeof(m->module_text), "no generic netlink here: %s",
			 strerror(-r));
		log_warning(LOG_ID_MODULE, "%s; the host's files alone are used", m->module_text);
		return;
	}
	m->transition.module = (struct actuator_module){
		.set = set_rows,
		.back = set_back,
		.own_row = own_row,
		.text = words,
		.data = m->kernel,
	};
	take(m);
}

void manager_module_stop(struct manager *m)
{
	if (m->kernel)
		kernel_drop(m->kernel);
}

void manager_module_free(struct manager *m)
{
	sd_event_source_unref(m->module_news);
	sd_event_source_unref(m->module_settle);
	sd_event_source_unref(m->module_renew);
	kernel_free(m->kernel);
}
