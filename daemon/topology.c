/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology.h"

#include "readfile.h"

static uint16_t read_id(int cpu_dir, uint32_t cpu, const char *tail)
{
	char path[READFILE_CPU_PATH_MAX];
	uint64_t id;

	/* -1 where the architecture does not know, which is no number here, as are files not there. */
	if (readfile_u64(cpu_dir, readfile_cpu_path(cpu, tail, path), &id) < 0 ||
	    id >= MACHINE_NO_ID)
		return MACHINE_NO_ID;
	return (uint16_t)id;
}

/* Nodes list their CPUs; CPUs do not name their node except by a link. */
static int read_nodes(int root, struct machine *m)
{
	_cleanup_(cpuset_done) struct cpuset nodes = {}, cpus = {};
	int r = readfile_list(root, "sys/devices/system/node/online", CPU_MAX, &nodes);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	cpuset_for_each(node, &nodes) {
		char path[64];

		snprintf(path, sizeof(path), "sys/devices/system/node/node%" PRIu32 "/cpulist",
			 node);
		r = readfile_list(root, path, m->n_cpus, &cpus);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		cpuset_for_each(cpu, &cpus)
			m->cpus[cpu].node = (uint16_t)node;
	}
	return 0;
}

/*
 * The third level of cache. Where no CPU has one, the second is the last; where only some lack it (low-power
 * cores outside of the ring), they get no number: their second level's would collide with the others'.
 */
static void read_llc(int cpu_dir, struct machine *m)
{
	bool found = false;

	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpus[cpu].present) {
			m->cpus[cpu].llc = read_id(cpu_dir, cpu, "cache/index3/id");
			found |= m->cpus[cpu].llc != MACHINE_NO_ID;
		}
	for (uint32_t cpu = 0; !found && cpu < m->n_cpus; cpu++)
		if (m->cpus[cpu].present)
			m->cpus[cpu].llc = read_id(cpu_dir, cpu, "cache/index2/id");
}

static void read_packages(int cpu_dir, struct machine *m)
{
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
		struct machine_cpu *c = &m->cpus[cpu];

		if (!c->present)
			continue;
		c->package = read_id(cpu_dir, cpu, "topology/physical_package_id");
		c->die = read_id(cpu_dir, cpu, "topology/die_id");
		c->core = read_id(cpu_dir, cpu, "topology/core_id");
	}
}

int topology_read(int root_fd, int cpu_dir, unsigned needs, struct machine *m)
{
	if (needs & SELECTOR_NEEDS_TOPOLOGY)
		read_packages(cpu_dir, m);
	if (needs & SELECTOR_NEEDS_LLC)
		read_llc(cpu_dir, m);
	return needs & SELECTOR_NEEDS_NODE ? read_nodes(root_fd, m) : 0;
}
