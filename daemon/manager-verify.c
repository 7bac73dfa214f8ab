/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>
#include <time.h>

#include "manager-private.h"

#include "proof.h"
#include "sysfs.h"

/*
 * Is it as the plan says? Files are compared at once. What the counters say takes a while, in which the loop goes
 * on: a round of observation has a first look, a timer and a second look. While none is under way there is no timer
 * and nothing is read.
 */
#define ACCURACY_US UINT64_C(10000) /* of the end of a round: a person may wait for it */

struct observer {
	struct round *round;
	struct observer *next;
	manager_observed_fn fn;
	void *data;
};

struct round {
	struct manager *m;
	struct round *next;
	struct observer *first; /* NULL: nobody waits any more, and it is about to be freed */
	struct proof proof;
	struct sd_event_source *timer;
	uint64_t interval_us;
	bool replanned; /* with another plan nobody joins it */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static struct proof_clock read_clock(void)
{
	uint64_t awake, all, after;

	/* Both of one moment: somebody else may run in between. */
	for (uint32_t i = 0; i < 5; i++) {
		awake = clock_ns(CLOCK_MONOTONIC);
		all = clock_ns(CLOCK_BOOTTIME);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - awake < NSEC_PER_MSEC)
			break;
	}
	return (struct proof_clock){.awake_ns = awake, .asleep_ns = all - awake};
}

/* ---- comparing ---- */

/* Files that hold something else than is known of them, though no event told so. */
static void take_up(struct manager *m, const struct machine *now)
{
	bool any = false;

	for (uint32_t i = 0; i < MIN_OF(now->n_cpus, m->machine->n_cpus); i++) {
		const struct machine_cpu *is = &now->cpus[i], *known = &m->machine->cpus[i];
		uint16_t bits = is->table == MACHINE_NO_TABLE ? 0 : is->disabled ^ known->disabled;

		if (is->has_qos && is->qos_ns != known->qos_ns)
			bits |= 1U << MACHINE_BIT_QOS;
		watch_mark(&m->watch, i, bits);
		any = any || bits;
	}
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		if (now->knobs[i].now != m->machine->knobs[i].now) {
			watch_mark_knob(&m->watch, i);
			any = true;
		}
	if (!any)
		return;
	/* Without a watch there is no answering; the next reload at least reads everything anew. */
	m->stale = m->stale || m->watch.fd < 0;
	manager_look_soon(m);
}

static int read_now(struct manager *m, struct machine **ret)
{
	struct machine *now;
	int r = sysfs_read_machine(m->root_fd, 0, NULL, &now);

	if (r < 0)
		return r;
	host_read_global(&m->host, now);
	for (uint32_t i = 0; i < MIN_OF(now->n_cpus, m->machine->n_cpus); i++)
		now->cpus[i].left = m->machine->cpus[i].left;
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		now->knobs[i].left = m->machine->knobs[i].left;
	*ret = now;
	return 0;
}

/* Without the closing word. */
static int compare(struct manager *m, struct findings *ret)
{
	_cleanup_(cpuset_done) struct cpuset not_kept = {.size = 0};
	_cleanup_(machine_freep) struct machine *now = NULL;
	struct verify_input in = {
		.plan = m->plan,
		.actuator = &m->transition.actuator,
		.not_kept = &not_kept,
	};
	struct findings found;
	int r;

	if (!m->plan)
		return -ENODATA;
	r = cpuset_init(&not_kept, CPU_MAX);
	if (r == 0)
		r = read_now(m, &now);
	if (r != 0)
		return r;
	in.now = now;
	in.kept = manager_module_kept(m, &not_kept);
	r = verify_make(&in, &found);
	if (r < 0)
		return r;
	take_up(m, now);
	r = in.kept ? manager_module_tell(m, &not_kept, &found) : 0;
	if (r < 0)
		findings_done(&found);
	else
		*ret = found;
	return r;
}

int manager_verify(struct manager *m, struct findings *ret)
{
	struct findings found;
	int r = compare(m, &found);

	if (r < 0)
		return r;
	r = findings_close(&found);
	if (r < 0)
		findings_done(&found);
	else
		*ret = found;
	return r;
}

/* ---- observing ---- */

static struct tally counters_of(const struct manager *m)
{
	struct tally t;

	tally_init(&t, m->root_fd);
	tally_renumber(&t, m->machine->own_row);
	return t;
}

static void round_free(struct round *round)
{
	struct round **at = &round->m->rounds;

	while (*at && *at != round)
		at = &(*at)->next;
	if (*at)
		*at = round->next;
	sd_event_source_disable_unref(round->timer);
	proof_done(&round->proof);
	free(round);
}

static int look_again(const struct round *round, struct findings *f)
{
	struct manager *m = round->m;
	struct tally t = counters_of(m);
	struct proof_clock now = read_clock();
	int r = proof_end(&round->proof, m->plan, m->machine, &now, tally_read, &t, f);

	return r < 0 ? r : findings_close(f);
}

static int on_end(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	_cleanup_(findings_done) struct findings f = {.n = 0};
	struct round *round = userdata;
	struct observer *o = round->first;
	int r = compare(round->m, &f);

	if (r == 0)
		r = look_again(round, &f);
	if (r < 0)
		findings_done(&f);
	/* Whoever is called may ask for the next round, or cancel one that is not over. */
	round->first = NULL;
	round_free(round);
	while (o) {
		struct observer *next = o->next;

		o->fn(o->data, r, &f);
		free(o);
		o = next;
	}
	return 0;
}

static int arm(struct round *round)
{
	int r = sd_event_add_time_relative(round->m->event, &round->timer, CLOCK_MONOTONIC,
					   round->interval_us, ACCURACY_US, on_end, round);

	return r < 0 ? r : 0;
}

static int round_new(struct manager *m, uint64_t interval_us, struct round **ret)
{
	struct round *round = calloc(1, sizeof(*round));
	struct proof_clock now = read_clock();
	struct tally t = counters_of(m);
	int r;

	if (!round)
		return -ENOMEM;
	*round = (struct round){.m = m, .interval_us = interval_us};
	r = proof_begin(&round->proof, m->plan, m->machine, &now, m->planned_ns, tally_read, &t);
	if (r == 0)
		r = arm(round);
	if (r < 0) {
		round_free(round);
		return r;
	}
	round->next = m->rounds;
	m->rounds = round;
	*ret = round;
	return 0;
}

/* One that has just begun with what is asked for. */
static struct round *find_round(const struct manager *m, uint64_t interval_us)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (struct round *r = m->rounds; r; r = r->next)
		if (r->interval_us == interval_us && !r->replanned &&
		    now - r->proof.begun.awake_ns < MANAGER_JOIN_US * NSEC_PER_USEC)
			return r;
	return NULL;
}

static uint32_t count_rounds(const struct manager *m)
{
	uint32_t n = 0;

	for (const struct round *r = m->rounds; r; r = r->next)
		n++;
	return n;
}

int manager_observe(struct manager *m, uint64_t interval_us, bool root, manager_observed_fn fn,
		    void *data, struct observer **ret)
{
	struct observer *o;
	struct round *round;
	int r = 0;

	if (!m->plan)
		return -ENODATA;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	round = find_round(m, interval_us);
	if (!round && count_rounds(m) >= (root ? MANAGER_ROUNDS_MAX : MANAGER_ROUNDS_OTHERS))
		r = -EUSERS;
	else if (!round)
		r = round_new(m, interval_us, &round);
	if (r < 0) {
		free(o);
		return r;
	}
	*o = (struct observer){.round = round, .next = round->first, .fn = fn, .data = data};
	round->first = o;
	*ret = o;
	return 0;
}

void manager_observe_cancel(struct observer *o)
{
	struct observer **at;

	if (!o)
		return;
	at = &o->round->first;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (!o->round->first)
		round_free(o->round);
	free(o);
}

void manager_verify_follow(struct manager *m)
{
	m->planned_ns = clock_ns(CLOCK_MONOTONIC);
	for (struct round *r = m->rounds; r; r = r->next) {
		r->replanned = true;
		proof_follow(&r->proof, m->plan, m->machine);
	}
}

void manager_verify_free(struct manager *m)
{
	while (m->rounds) {
		struct observer *o = m->rounds->first;

		while (o) {
			struct observer *next = o->next;

			free(o);
			o = next;
		}
		round_free(m->rounds);
	}
}
