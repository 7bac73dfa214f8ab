/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "steps-private.h"
#include "world.h"

static uint64_t state;
static char failure[TEXT_MAX];
static bool failed;

void steps_seed(uint64_t seed)
{
	state = seed;
}

/* splitmix64 */
unsigned steps_random(unsigned n)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ z >> 31) >> 32) % n;
}

void must(bool good, const char *fmt, ...)
{
	va_list args;

	if (good || failed)
		return;
	failed = true;
	va_start(args, fmt);
	vsnprintf(failure, sizeof(failure), fmt, args);
	va_end(args);
}

const char *steps_failure(void)
{
	bool was = failed;

	failed = false;
	return was ? failure : NULL;
}

/*
 * Values. The daemon's own and those of others never meet, so that who wrote one can be told. Zero is rare: a CPU that may
 * not sleep at all spins, and the emulator with it.
 */
#define ZERO_ONE_IN 120U

int any_limit(void)
{
	static const int us[] = {2, 3, 5, 12, 20, 41, 95, 240};

	return steps_random(ZERO_ONE_IN) == 0 ? 0 : us[steps_random(sizeof(us) / sizeof(*us))];
}

int any_foreign_limit(void)
{
	static const int us[] = {1, 7, 17, 33, 150, NO_LIMIT, NO_LIMIT};

	return us[steps_random(sizeof(us) / sizeof(*us))];
}

unsigned any_cpus(void)
{
	return steps_random(4) == 0 ? CPUS_MASK : 1 + steps_random(CPUS_MASK);
}

/* ---- others ---- */

/*
 * Without the module the files belong to both. Two who write the same file at the same moment cannot be told apart by
 * anybody, so others wait until the daemon has done what it was at.
 */
static void let_it_finish(const struct model *m)
{
	int us[CPUS];

	if (m->alive && !m->module)
		must(world_plan(us) && world_plan(us), "the daemon answers");
}

/* Nobody could tell whose a value is that stands there already. */
static bool step_qos(struct model *m, char *text)
{
	unsigned cpu = steps_random(CPUS);
	int us = any_foreign_limit();

	if (!may_insist(m, cpu) || us == m->foreign_us[cpu])
		return false;
	/* zero is a value of both; never into a file that may hold ours */
	if (m->module && m->alive && steps_random(16) == 0)
		us = 0;
	snprintf(text, TEXT_MAX, "others write %d us for CPU %u", us, cpu);
	let_it_finish(m);
	must(world_write_qos(cpu, us), "%s", text);
	m->foreign_us[cpu] = us;
	if (!m->alive)
		m->left_us[cpu] = us;
	return true;
}

static bool step_disable(struct model *m, char *text)
{
	unsigned cpu = steps_random(CPUS);
	bool off = !m->foreign_off[cpu];
	struct kernel want;

	model_expect(m, &want);
	if (!(m->online >> cpu & 1) || !may_insist(m, cpu))
		return false;
	/* where ours stands in the file, theirs cannot be told from it */
	if (want.file_off[cpu] != m->foreign_off[cpu])
		return false;
	if (!m->alive && m->left_off[cpu] != m->foreign_off[cpu])
		return false;
	snprintf(text, TEXT_MAX, "others switch C2 of CPU %u %s", cpu, off ? "off" : "on");
	let_it_finish(m);
	must(world_write_disable(cpu, off), "%s", text);
	m->foreign_off[cpu] = off;
	if (!m->alive)
		m->left_off[cpu] = off;
	return true;
}

/* Without the module: a state of ours that they switch on again is off soon after. */
static bool step_insist(struct model *m, char *text)
{
	unsigned cpu = steps_random(CPUS);
	struct kernel want;

	model_expect(m, &want);
	if (m->module || !(m->online >> cpu & 1) || !want.file_off[cpu] || m->foreign_off[cpu] ||
	    !may_insist(m, cpu))
		return false;
	snprintf(text, TEXT_MAX, "others switch C2 of CPU %u on, which we had off", cpu);
	let_it_finish(m);
	must(world_write_disable(cpu, false), "%s", text);
	return true;
}

static bool step_request(struct model *m, char *text)
{
	unsigned slot = steps_random(N_REQUESTS);
	int us = steps_random(2) ? NO_LIMIT : any_foreign_limit();

	if (steps_random(ZERO_ONE_IN) == 0)
		us = 0;
	if (us == m->request_us[slot])
		return false;
	snprintf(text, TEXT_MAX, "others ask for %d us on cpu_dma_latency (%u)", us, slot);
	must(world_request(slot, us), "%s", text);
	m->request_us[slot] = us;
	return true;
}

static bool step_hotplug(struct model *m, char *text)
{
	unsigned cpu = 1 + steps_random(CPUS - 1);
	bool online = !(m->online >> cpu & 1);

	/* away a third of the time */
	if (!online && steps_random(2))
		return false;
	snprintf(text, TEXT_MAX, "CPU %u goes %s", cpu, online ? "online" : "offline");
	must(world_online(cpu, online), "%s", text);
	m->online ^= 1U << cpu;
	return true;
}

/* ---- holds ---- */

static bool take_hold(struct model *m, enum holder_kind kind, char *text)
{
	static const char *const kinds[] = {"a connection", "a connection, of a profile",
					    "a process", "cpuidlectl"};
	unsigned slot = steps_random(N_HOLDS), cpus = any_cpus();
	int us = any_limit();
	char list[16];

	if (m->holds[slot].cpus)
		return false;
	if (kind == HOLDER_PROFILE)
		us = 20; /* as profile low-latency says */
	snprintf(text, TEXT_MAX, "hold %u by %s: %d us on %s", slot, kinds[kind], us,
		 world_list(cpus, list));
	must(world_hold(slot, kind, cpus, us), "%s", text);
	m->holds[slot] = (struct hold){.cpus = cpus, .us = us};
	return true;
}

static bool step_hold(struct model *m, char *text)
{
	return take_hold(m, steps_random(6) ? HOLDER_OURS : HOLDER_PROFILE, text);
}

static bool step_hold_child(struct model *m, char *text)
{
	return take_hold(m, HOLDER_CHILD, text);
}

static bool step_hold_client(struct model *m, char *text)
{
	return take_hold(m, HOLDER_CLIENT, text);
}

/* One that is held, from a random place on; N_HOLDS: none. */
static unsigned pick_hold(const struct model *m, bool process)
{
	unsigned from = steps_random(N_HOLDS);

	for (unsigned i = 0; i < N_HOLDS; i++) {
		unsigned slot = (from + i) % N_HOLDS;

		if (m->holds[slot].cpus && world_is_process(slot) == process)
			return slot;
	}
	return N_HOLDS;
}

static bool step_release(struct model *m, char *text)
{
	unsigned slot = pick_hold(m, steps_random(4) == 0);

	if (slot == N_HOLDS)
		return false;
	snprintf(text, TEXT_MAX, "release of hold %u", slot);
	must(world_release(slot), "%s", text);
	m->holds[slot].cpus = 0;
	return true;
}

static bool step_release_client(struct model *m, char *text)
{
	unsigned slot = pick_hold(m, false);

	if (slot == N_HOLDS)
		return false;
	snprintf(text, TEXT_MAX, "cpuidlectl release of hold %u", slot);
	must(world_release_by_client(slot), "%s", text);
	m->holds[slot].cpus = 0;
	return true;
}

static bool step_kill_holder(struct model *m, char *text)
{
	unsigned slot = pick_hold(m, true);

	if (slot == N_HOLDS)
		return false;
	snprintf(text, TEXT_MAX, "kill -9 of the holder of %u", slot);
	world_kill_holder(slot);
	m->holds[slot].cpus = 0;
	return true;
}

static bool step_brief(struct model *m, char *text)
{
	unsigned cpus = any_cpus(), ms = 20 + steps_random(100);
	int us = any_limit();
	char list[16];

	(void)m;
	snprintf(text, TEXT_MAX, "hold for %u ms: %d us on %s", ms, us, world_list(cpus, list));
	must(world_hold_briefly(cpus, us, ms), "%s", text);
	return true;
}

/* ---- control groups ---- */

static bool step_cgroup(struct model *m, char *text)
{
	unsigned slot = steps_random(N_CGROUPS);
	struct cgroup *g = &m->cgroups[slot];
	unsigned cpus = steps_random(4) ? any_cpus() : 0;
	char list[16];

	/* one with a process in it is not emptied again, says the kernel */
	if (!cpus && g->populated)
		return false;
	if (g->exists && steps_random(2)) {
		snprintf(text, TEXT_MAX, "control group %u has CPUs %s now", slot,
			 world_list(cpus, list));
		must(world_cgroup_cpus(slot, cpus), "%s", text);
		g->cpus = cpus;
		return true;
	}
	if (g->exists)
		return false;
	snprintf(text, TEXT_MAX, "control group %u, CPUs %s", slot, world_list(cpus, list));
	must(world_cgroup_make(slot, cpus), "%s", text);
	*g = (struct cgroup){.exists = true, .populated = true, .cpus = cpus};
	return true;
}

static bool step_cgroup_end(struct model *m, char *text)
{
	unsigned slot = steps_random(N_CGROUPS);
	struct cgroup *g = &m->cgroups[slot];

	if (!g->exists)
		return false;
	if (g->populated && steps_random(2)) {
		snprintf(text, TEXT_MAX, "the process of control group %u ends", slot);
		must(world_cgroup_end(slot), "%s", text);
		g->populated = false;
		return true;
	}
	snprintf(text, TEXT_MAX, "control group %u goes", slot);
	must(world_cgroup_remove(slot), "%s", text);
	*g = (struct cgroup){.exists = false};
	return true;
}

static bool step_cgroup_move(struct model *m, char *text)
{
	unsigned from = steps_random(N_CGROUPS), to = steps_random(N_CGROUPS);

	if (!m->cgroups[from].populated || !m->cgroups[to].exists || m->cgroups[to].populated)
		return false;
	snprintf(text, TEXT_MAX, "the process of control group %u moves to %u", from, to);
	must(world_cgroup_move(from, to), "%s", text);
	m->cgroups[from].populated = false;
	m->cgroups[to].populated = true;
	return true;
}

/* ---- which one ---- */

const struct step steps[] = {
	{"hold", 130, STEP_ALIVE | STEP_QUICK, step_hold},
	{"hold of a process", 90, STEP_ALIVE, step_hold_child},
	{"hold by cpuidlectl", 8, STEP_ALIVE, step_hold_client},
	{"hold for a while", 12, STEP_ALIVE, step_brief},
	{"release", 130, STEP_ALIVE | STEP_QUICK, step_release},
	{"release by cpuidlectl", 5, STEP_ALIVE, step_release_client},
	{"kill -9 of a holder", 90, STEP_ALIVE | STEP_QUICK, step_kill_holder},
	{"others' limit of a CPU", 120, STEP_QUICK, step_qos},
	{"others' states", 50, STEP_QUICK, step_disable},
	{"others against ours", 20, STEP_ALIVE | STEP_QUICK, step_insist},
	{"others' limit of all", 90, STEP_QUICK, step_request},
	{"a CPU goes or comes", 40, 0, step_hotplug},
	{"control group", 70, STEP_QUICK, step_cgroup},
	{"control group ends", 40, STEP_QUICK, step_cgroup_end},
	{"control group's process moves", 40, STEP_QUICK, step_cgroup_move},
	{"reload", 50, STEP_ALIVE, step_reload},
	{"reload by cpuidlectl", 4, STEP_ALIVE, step_reload_client},
	{"bad reload", 20, STEP_ALIVE, step_bad_reload},
	{"bad reload by cpuidlectl", 4, STEP_ALIVE, step_bad_reload_client},
	{"settings", 30, STEP_ALIVE, step_set},
	{"bad settings", 10, STEP_ALIVE, step_bad_set},
	{"settings by cpuidlectl", 4, STEP_ALIVE, step_set_client},
	{"reset of settings", 12, STEP_ALIVE, step_reset},
	{"another policy for later", 60, STEP_DEAD, step_policy},
	{"start", 250, STEP_DEAD, steps_start},
	{"start with a bad policy", 30, STEP_DEAD, step_bad_start},
	{"cpuidled --restore", 40, STEP_DEAD, step_restore},
	{"second daemon", 3, STEP_ALIVE, step_second},
	{"stop", 5, STEP_ALIVE, step_stop},
	{"kill -9 of the daemon", 14, STEP_ALIVE, step_kill},
	{"kill -9 in the middle", 6, STEP_ALIVE, step_kill_amid},
	{"module", 16, 0, step_module},
};
const unsigned n_steps = sizeof(steps) / sizeof(*steps);

static bool fits(const struct step *s, const struct model *m, unsigned only)
{
	if ((s->flags & only) != only)
		return false;
	return !(s->flags & (m->alive ? STEP_DEAD : STEP_ALIVE));
}

const struct step *steps_pick(const struct model *m, unsigned only)
{
	unsigned sum = 0, at;

	for (unsigned i = 0; i < n_steps; i++)
		sum += fits(&steps[i], m, only) ? steps[i].weight : 0;
	at = steps_random(sum);
	for (unsigned i = 0; i < n_steps; i++) {
		unsigned weight = fits(&steps[i], m, only) ? steps[i].weight : 0;

		if (at < weight)
			return &steps[i];
		at -= weight;
	}
	return NULL;
}
