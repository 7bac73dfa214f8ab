/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan-scaling CPUS: resolves one policy for a host of that many CPUs and prints how many allocations it
 * took. Under callgrind with --toggle-collect=plan_resolve it tells the instructions as well.
 */
#include "plan.h"

static const char text[] = "[Daemon]\n"
			   "DefaultProfile=wide\n"
			   "[Profile wide]\n"
			   "[Profile near]\n"
			   "LatencyLimit=20us\n"
			   "DisableStates=C6\n"
			   "[Profile zero]\n"
			   "LatencyLimit=0\n"
			   "[Group striped]\n"
			   "CPUs=0-8191:4/16\n"
			   "Profile=near\n"
			   "[Group package]\n"
			   "CPUs=package:1 & !0-8191:1/8\n"
			   "Profile=near\n"
			   "Priority=5\n"
			   "[Group isolated]\n"
			   "CPUs=isolated\n"
			   "Profile=zero\n";

/* glibc's own, for counting what goes through the names that everybody uses. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static uint64_t n_allocations;

void *malloc(size_t size)
{
	n_allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	n_allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	n_allocations++;
	return __libc_realloc(p, size);
}

static void fill_cpu(struct machine *m, uint32_t cpu, uint16_t table)
{
	struct machine_cpu *row = &m->cpus[cpu];

	row->table = table;
	row->package = (uint16_t)(cpu >= m->n_cpus / 2);
	row->node = row->package;
	row->llc = row->package;
	row->die = 0;
	row->core = (uint16_t)(cpu / 2);
	row->present = row->online = row->has_qos = true;
}

static void add_state(struct idle_table *t, const char *name, uint64_t exit_us,
		      uint64_t residency_us)
{
	struct idle_state *state = &t->states[t->n++];

	snprintf(state->name, sizeof(state->name), "%s", name);
	state->exit_latency_ns = exit_us * NSEC_PER_USEC;
	state->target_residency_ns = residency_us * NSEC_PER_USEC;
}

static int make_machine(uint32_t n_cpus, struct machine **ret)
{
	struct idle_table table = {0};
	_cleanup_(machine_freep) struct machine *m = NULL;
	uint16_t number;
	int r;

	add_state(&table, "POLL", 0, 0);
	add_state(&table, "C1", 1, 1);
	add_state(&table, "C1E", 2, 4);
	add_state(&table, "C6", 290, 800);
	r = machine_new(n_cpus, &m);
	if (r < 0)
		return r;
	r = machine_intern_table(m, &table, &number);
	if (r < 0)
		return r;
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
		fill_cpu(m, cpu, number);
	for (uint32_t cpu = 8; cpu < 16; cpu++)
		cpuset_add(&m->isolated, cpu);
	*ret = TAKE_PTR(m);
	return 0;
}

static int make_policy(struct policy **ret)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct diag_list diags = {0};
	int r;

	r = policy_new(&p);
	if (r < 0)
		return r;
	r = policy_add_text(p, "plan-scaling", text, sizeof(text) - 1, &diags);
	if (r == 0)
		r = policy_finish(p, &diags);
	if (r == 0 && diags.n_errors > 0)
		r = -EBADMSG;
	diag_done(&diags);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(machine_freep) struct machine *machine = NULL;
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(plan_freep) struct plan *plan = NULL;
	uint64_t n_cpus, before;
	int r;

	if (argc != 2 || units_parse_u64(argv[1], 16, CPU_MAX, &n_cpus) < 0) {
		fprintf(stderr, "usage: plan-scaling CPUS (16 to %u)\n", CPU_MAX);
		return 2;
	}
	r = make_machine((uint32_t)n_cpus, &machine);
	if (r == 0)
		r = make_policy(&policy);
	before = n_allocations;
	if (r == 0)
		r = plan_resolve(policy, machine, NULL, NULL, &plan);
	if (r < 0) {
		fprintf(stderr, "plan-scaling: %s\n", strerror(-r));
		return 1;
	}
	printf("cpus %" PRIu64 " rows %u allocations %" PRIu64 "\n", n_cpus, plan->n_rows,
	       n_allocations - before);
	return 0;
}
