/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failmem.h"
#include "policy.h"
#include "sysfs.h"
#include "transition.h"

/*
 * Switches between random policies on recorded hosts, write by write. A small host in memory takes the writes;
 * what a CPU may do there is worked out from its files alone, the way the kernel's governors do it, and
 * never from plan or diff.
 */
#define US	   NSEC_PER_USEC
#define CPUS_LIMIT 64U

struct world {
	struct machine *facts; /* tables; its limits are not looked at */
	uint64_t qos[CPUS_LIMIT];
	uint16_t disabled[CPUS_LIMIT];
	uint64_t global;
	/* What the kernel's module keeps, and kept before. */
	struct plan_module kept[CPUS_LIMIT], kept_before[CPUS_LIMIT];
	/* What each CPU was allowed at the beginning and shall be at the end. */
	uint16_t before[CPUS_LIMIT], after[CPUS_LIMIT];
	bool judging;
	uint32_t n_set, n_get, fail_set, fail_get;
	int error;
	struct host *host;
};

/* Bit i: state i may be entered. */
static uint16_t allowed(const struct world *w, uint32_t cpu)
{
	const struct idle_table *t = machine_table(w->facts, cpu);
	uint64_t limit = w->qos[cpu] < w->global ? w->qos[cpu] : w->global;
	uint16_t bits = 0;

	limit = MIN_OF(limit, w->kept[cpu].limit_ns);
	for (uint32_t i = 0; t && i < t->n; i++) {
		bool fits = limit == LATENCY_NONE || i == 0 ||
			    (limit > 0 && t->states[i].exit_latency_ns <= limit);

		if (fits && !((w->disabled[cpu] | w->kept[cpu].states_off) >> i & 1))
			bits |= (uint16_t)(1U << i);
	}
	return bits;
}

static void allowed_all(const struct world *w, uint16_t *ret)
{
	for (uint32_t cpu = 0; cpu < w->facts->n_cpus; cpu++)
		ret[cpu] = allowed(w, cpu);
}

/* No moment is looser than both ends. */
static void judge(const struct world *w)
{
	for (uint32_t cpu = 0; w->judging && cpu < w->facts->n_cpus; cpu++) {
		uint16_t now = allowed(w, cpu);

		ck_assert_msg(!(now & ~w->before[cpu]) || !(now & ~w->after[cpu]),
			      "CPU %u may enter %#x; before it was %#x, afterwards it is %#x", cpu,
			      now, w->before[cpu], w->after[cpu]);
	}
}

static void put(struct world *w, const struct change *c, uint64_t value)
{
	uint16_t bit = (uint16_t)(1U << c->state);

	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		w->qos[c->cpu] = value;
		break;
	case KNOB_DISABLE:
		w->disabled[c->cpu] =
			(uint16_t)(value ? w->disabled[c->cpu] | bit : w->disabled[c->cpu] & ~bit);
		break;
	case KNOB_GLOBAL:
		w->global = value;
		if (w->host)
			w->host->global_ns = value;
		break;
	case KNOB_HOST:
		ck_abort();
	}
}

static int world_set(void *data, const struct change *c, uint64_t value)
{
	struct world *w = data;

	if (w->n_set++ == w->fail_set)
		return w->error;
	put(w, c, value);
	judge(w);
	return 0;
}

static int world_get(void *data, const struct change *c, uint64_t *ret)
{
	const struct world *w = data;

	if (((struct world *)data)->n_get++ == w->fail_get)
		return w->error;
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		*ret = w->qos[c->cpu];
		break;
	case KNOB_DISABLE:
		*ret = w->disabled[c->cpu] >> c->state & 1;
		break;
	case KNOB_GLOBAL:
		*ret = w->global;
		break;
	case KNOB_HOST:
		ck_abort();
	}
	return 0;
}

/* All CPUs in one transaction; how the real one gets there is test-kernel's. */
static void keep(struct world *w, const struct module_rows *want)
{
	memcpy(w->kept_before, w->kept, sizeof(w->kept));
	for (uint32_t cpu = 0; cpu < CPUS_LIMIT; cpu++)
		w->kept[cpu] = *module_row_of(want, cpu);
}

static int world_keep(void *data, const struct module_rows *want)
{
	struct world *w = data;

	if (w->n_set++ == w->fail_set)
		return w->error;
	keep(w, want);
	judge(w);
	return 1;
}

static int world_keep_back(void *data)
{
	struct world *w = data;

	memcpy(w->kept, w->kept_before, sizeof(w->kept));
	judge(w);
	return 1;
}

static const char *world_words(const void *data _unused_)
{
	return "no";
}

static const struct actuator_ops world_ops = {.set = world_set, .get = world_get};

/* ---- hosts and policies ---- */

static const char *const hosts[] = {"dnv0", "adl0", "bdwup0", "hswep0"};

static void unpack(const char *name, const char *dir)
{
	char recording[512];
	int status;
	pid_t pid;

	snprintf(recording, sizeof(recording), TEST_SOURCE_DIR "/hosts/%s.sysfs.gz", name);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execl("/bin/sh", "sh", TEST_SOURCE_DIR "/hosts/unpack", recording, dir, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* A generator of our own: the same on every host and in every run. */
static uint32_t pick(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % n;
}

static const char *const limits[] = {"none", "0",    "400ns", "1us",   "2us",  "10us",
				     "33us", "70us", "133us", "200us", "500us"};
static const char *const states[] = {"", "C1", "C1E", "C3", "C6", "C1 C6", "C1E C3", "core-off"};
static const char *const cpu_lists[] = {"all", "0-3", "1,3,5-7", "!(0-5)"};

static void random_profile(uint64_t *seed, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "[Profile %s]\nLatencyLimit=%s\nDisableStates=%s\nEnableStates=%s\n",
		 name, limits[pick(seed, ARRAY_SIZE(limits))],
		 states[pick(seed, ARRAY_SIZE(states))], pick(seed, 2) ? "" : "C1 C3");
}

/* NULL when the dice made one that contradicts itself. */
static struct policy *try_policy(uint64_t *seed)
{
	struct diag_list diags = {.n = 0};
	char text[1024], a[256], b[256];
	struct policy *p = NULL;
	size_t n_errors;

	random_profile(seed, "a", a, sizeof(a));
	random_profile(seed, "b", b, sizeof(b));
	snprintf(text, sizeof(text),
		 "[Daemon]\nDefaultProfile=a\nGlobalLatencyLimit=%s\n%s%s"
		 "[Group g]\nCPUs=%s\nProfile=b\n",
		 pick(seed, 2) ? "none" : limits[pick(seed, ARRAY_SIZE(limits))], a, b,
		 cpu_lists[pick(seed, ARRAY_SIZE(cpu_lists))]);
	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "random", text, strlen(text), &diags), 0);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	n_errors = diags.n_errors;
	diag_done(&diags);
	if (n_errors == 0)
		return p;
	policy_free(p);
	return NULL;
}

static struct policy *random_policy(uint64_t *seed)
{
	struct policy *p;

	do
		p = try_policy(seed);
	while (!p);
	return p;
}

/* ---- one host under test ---- */

static char tree[256];
static int root_fd = -1;
static struct machine *machine;
static struct world world;
static struct host host;
static struct transition transition;

/* What others have set before us. */
static void foreign_limits(uint64_t *seed)
{
	static const uint64_t values[] = {LATENCY_NONE, LATENCY_NONE, 0, 1 * US, 5 * US, 100 * US};

	for (uint32_t cpu = 0; cpu < machine->n_cpus; cpu++) {
		struct machine_cpu *c = &machine->cpus[cpu];

		c->has_qos = pick(seed, 10) > 0;
		c->qos_ns = c->qos_prior_ns =
			c->has_qos ? values[pick(seed, ARRAY_SIZE(values))] : LATENCY_NONE;
		if (pick(seed, 8) == 0)
			c->disabled = c->disabled_prior |= (uint16_t)(1U << (1 + pick(seed, 3)));
		world.qos[cpu] = c->qos_ns;
		world.disabled[cpu] = c->disabled;
	}
	world.global = LATENCY_NONE;
	for (uint32_t cpu = 0; cpu < CPUS_LIMIT; cpu++)
		world.kept[cpu].limit_ns = LATENCY_NONE;
}

/* The module comes, goes, or stays as it is. */
static void turn_module(uint64_t *seed)
{
	bool there = machine->module.loaded != (pick(seed, 3) == 0);

	machine->module = (struct machine_module){
		.loaded = there, .limits = there, .states_off = there && pick(seed, 4)};
}

static void open_host(const char *name, uint64_t *seed)
{
	snprintf(tree, sizeof(tree), "%s/tree", test_tmpdir());
	unpack(name, tree);
	test_write(tree, "dev/cpu_dma_latency", "");
	ck_assert_int_eq(sysfs_open_root(tree, &root_fd), 0);
	ck_assert_int_eq(restore_make_dir(root_fd), 0);
	ck_assert_int_eq(sysfs_read_machine(root_fd, 0, NULL, &machine), 0);
	ck_assert_uint_le(machine->n_cpus, CPUS_LIMIT);
	world = (struct world){
		.facts = machine, .fail_set = UINT32_MAX, .fail_get = UINT32_MAX, .host = &host};
	host_init(&host, root_fd);
	foreign_limits(seed);
	transition = (struct transition){
		.root_fd = root_fd,
		.host = &host,
		.actuator = {.ops = &world_ops, .data = &world},
		.module = {world_keep, world_keep_back, NULL, world_words, &world},
	};
}

static void close_host(void)
{
	machine_free(machine);
	host_done(&host);
	close(root_fd);
}

/* Where a list of changes leads, by carrying it out on a copy. */
static void expect(const struct changes *c, const struct module_rows *want)
{
	struct world end = world;

	end.host = NULL;
	for (uint32_t i = 0; i < c->n; i++)
		put(&end, &c->v[i], c->v[i].to);
	keep(&end, want);
	allowed_all(&world, world.before);
	allowed_all(&end, world.after);
	world.judging = true;
}

static struct plan *plan_for(const struct policy *p)
{
	struct plan *plan;

	ck_assert_int_eq(plan_resolve(p, machine, NULL, NULL, &plan), 0);
	return plan;
}

/* The plan's own word for what each CPU may enter has to be what its files then say. */
static void compare_with_plan(const struct plan *plan)
{
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);
		const struct idle_table *t = machine_table(machine, cpu);
		uint16_t bits = 0;

		for (uint32_t i = 0; row && t && i < t->n; i++)
			bits |= (uint16_t)(row->states[i].enabled << i);
		/* State 0 is there even when others disabled it. */
		if (row && t)
			ck_assert_msg((bits | 1) == (allowed(&world, cpu) | 1),
				      "CPU %u: plan %#x, files %#x", cpu, bits,
				      allowed(&world, cpu));
	}
}

static int switch_to(const struct policy *p, struct transition_result *result)
{
	_cleanup_(module_rows_done) struct module_rows want = {.n_cpus = 0};
	struct plan *plan = plan_for(p);
	struct changes c;
	int r;

	ck_assert_int_eq(diff_make(plan, machine, host.global_ns, &c), 0);
	ck_assert_int_eq(module_rows_make(plan, &want), 0);
	expect(&c, &want);
	r = transition_run(&transition, machine, &c, &want, result);
	if (r == 0) {
		struct changes again;

		compare_with_plan(plan);
		/* Once applied, nothing is left to be done. */
		ck_assert_int_eq(diff_make(plan, machine, host.global_ns, &again), 0);
		ck_assert_uint_eq(again.n, 0);
	}
	world.judging = false;
	changes_done(&c);
	plan_free(plan);
	return r;
}

static bool same_world(const struct world *a, const struct world *b)
{
	for (uint32_t cpu = 0; cpu < CPUS_LIMIT; cpu++)
		if (!module_row_equal(&a->kept[cpu], &b->kept[cpu]))
			return false;
	return memcmp(a->qos, b->qos, sizeof(a->qos)) == 0 && a->global == b->global &&
	       memcmp(a->disabled, b->disabled, sizeof(a->disabled)) == 0;
}

static void undo(const struct world *first)
{
	const struct module_rows nothing = {.n_cpus = 0};
	struct transition_result result;

	ck_assert_int_eq(transition_undo(&transition, machine, &result), 0);
	keep(&world, &nothing);
	ck_assert(same_world(&world, first));
	ck_assert_int_eq(faccessat(root_fd, RESTORE_FILE, F_OK, 0), -1);
}

START_TEST(no_switch_is_ever_looser)
{
	uint64_t seed = (uint64_t)_i * 7919 + 1;
	struct transition_result result;
	uint32_t writes = 0;
	struct world first;

	open_host(hosts[(size_t)_i % ARRAY_SIZE(hosts)], &seed);
	first = world;
	for (int i = 0; i < 40; i++) {
		struct policy *p = random_policy(&seed);

		turn_module(&seed);
		ck_assert_int_eq(switch_to(p, &result), 0);
		writes += result.n_written;
		policy_free(p);
	}
	ck_assert_uint_gt(writes, 40);
	undo(&first);
	close_host();
}
END_TEST

/* Every write of a switch fails once, and every read of its verification. */
START_TEST(failure_anywhere_goes_back)
{
	uint64_t seed = (uint64_t)_i * 104729 + 3;
	struct transition_result result;
	struct world first, before;
	struct policy *p;
	uint32_t n_failed = 0;

	open_host(hosts[(size_t)_i % 3], &seed);
	first = world;
	p = random_policy(&seed);
	ck_assert_int_eq(switch_to(p, &result), 0);
	for (int i = 0; i < 60; i++) {
		struct policy *next = random_policy(&seed);
		bool read = pick(&seed, 2);
		int r;

		turn_module(&seed);
		before = world;
		world.n_set = world.n_get = 0;
		*(read ? &world.fail_get : &world.fail_set) = pick(&seed, 30);
		world.error = -EIO;
		r = switch_to(next, &result);
		world.fail_set = world.fail_get = UINT32_MAX;
		if (r < 0) {
			n_failed++;
			ck_assert_int_eq(r, -EIO);
			ck_assert(result.step == (read ? STEP_VERIFY : STEP_APPLY) ||
				  (!read && result.step == STEP_MODULE));
			ck_assert_uint_eq(result.n_left, 0);
			ck_assert(same_world(&world, &before));
		}
		policy_free(next);
	}
	ck_assert_uint_gt(n_failed, 10);
	policy_free(p);
	undo(&first);
	close_host();
}
END_TEST

/* A successor that knows nothing but the record and the files gets to the same place. */
START_TEST(record_leads_back_from_any_write)
{
	uint64_t seed = (uint64_t)_i * 31337 + 5;
	struct transition_result result;
	struct restore_record record;
	struct world first, died;
	struct policy *p;

	open_host(hosts[(size_t)_i % 3], &seed);
	first = world;
	p = random_policy(&seed);
	ck_assert_int_eq(switch_to(p, &result), 0);
	policy_free(p);
	for (uint32_t at = 0; at < 25; at++) {
		uint32_t foreign;

		p = random_policy(&seed);
		/* Every write behind this one fails, the way back as well: as if killed there. */
		world.n_set = 0;
		world.fail_set = at;
		died = world;
		{
			struct plan *plan = plan_for(p);
			struct changes c;

			ck_assert_int_eq(diff_make(plan, machine, host.global_ns, &c), 0);
			ck_assert_int_eq(restore_plan(machine, &c, &record), 0);
			died.host = NULL;
			for (uint32_t i = 0; i < c.n && i < at; i++)
				put(&died, &c.v[i], c.v[i].to);
			changes_done(&c);
			plan_free(plan);
		}
		for (uint32_t cpu = 0; cpu < machine->n_cpus; cpu++) {
			struct machine_cpu *c = &machine->cpus[cpu];

			c->qos_ns = c->qos_prior_ns = died.qos[cpu];
			c->disabled = c->disabled_prior = died.disabled[cpu];
		}
		restore_overlay(&record, machine, &foreign);
		ck_assert_uint_eq(foreign, 0);
		for (uint32_t cpu = 0; cpu < machine->n_cpus; cpu++) {
			if (machine->cpus[cpu].has_qos)
				ck_assert_uint_eq(machine->cpus[cpu].qos_prior_ns, first.qos[cpu]);
			ck_assert_uint_eq(machine->cpus[cpu].disabled_prior, first.disabled[cpu]);
		}
		died.host = &host;
		died.fail_set = UINT32_MAX;
		host.global_ns = died.global;
		world = died;
		restore_done(&record);
		policy_free(p);
	}
	undo(&first);
	close_host();
}
END_TEST

/* The second write stands for somebody else's between our write and our reading back. */
START_TEST(value_that_does_not_stick_is_found)
{
	struct change v[] = {{LATENCY_NONE, 19 * US, 0, 0, KNOB_QOS, 0},
			     {LATENCY_NONE, 7 * US, 0, 0, KNOB_QOS, 0}};
	const struct changes c = {.v = v, .n = 2, .n_tighten = 2};
	struct transition_result result;
	uint64_t seed = 11;

	open_host("bdwup0", &seed);
	machine->cpus[0].has_qos = true;
	world.qos[0] = machine->cpus[0].qos_ns = machine->cpus[0].qos_prior_ns = LATENCY_NONE;
	ck_assert_int_eq(transition_run(&transition, machine, &c, NULL, &result), -ESTALE);
	ck_assert_int_eq(result.step, STEP_VERIFY);
	ck_assert_uint_eq(result.found, 7 * US);
	ck_assert_uint_eq(machine->cpus[0].qos_ns, LATENCY_NONE);
	close_host();
}
END_TEST

/* ---- memory that runs out ---- */

START_TEST(memory_running_out_changes_nothing_or_all)
{
	uint64_t seed = 17;
	struct transition_result result;
	struct world first, before;
	struct policy *p[2];
	unsigned nth = 0;
	bool hit;
	int r;

	open_host("dnv0", &seed);
	first = world;
	p[0] = random_policy(&seed);
	p[1] = random_policy(&seed);
	do {
		struct plan *plan = plan_for(p[nth % 2]);
		struct changes c;

		ck_assert_int_eq(diff_make(plan, machine, host.global_ns, &c), 0);
		before = world;
		failmem_start(++nth);
		r = transition_run(&transition, machine, &c, NULL, &result);
		hit = failmem_stop();
		ck_assert_int_eq(failmem_live(), 0);
		if (r < 0) {
			ck_assert_int_eq(r, -ENOMEM);
			ck_assert_int_eq(result.step, STEP_RECORD);
			ck_assert(same_world(&world, &before));
		}
		changes_done(&c);
		plan_free(plan);
	} while (hit);
	ck_assert_uint_gt(nth, 2);
	for (nth = 1;; nth++) {
		failmem_start(nth);
		r = transition_undo(&transition, machine, &result);
		hit = failmem_stop();
		ck_assert_int_eq(failmem_live(), 0);
		ck_assert(r == 0 || r == -ENOMEM);
		if (!hit)
			break;
	}
	ck_assert(same_world(&world, &first));
	policy_free(p[0]);
	policy_free(p[1]);
	close_host();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transition");
	TCase *tc = tcase_create("transition");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, no_switch_is_ever_looser, 0, 8);
	tcase_add_loop_test(tc, failure_anywhere_goes_back, 0, 6);
	tcase_add_loop_test(tc, record_leads_back_from_any_write, 0, 6);
	tcase_add_test(tc, value_that_does_not_stick_is_found);
	tcase_add_test(tc, memory_running_out_changes_nothing_or_all);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
