/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mktree.h"

#define CPU_DIR "sys/devices/system/cpu/"

const char *mktree_cpu(unsigned cpu, const char *tail)
{
	static char path[256];

	snprintf(path, sizeof(path), CPU_DIR "cpu%u/%s", cpu, tail);
	return path;
}

void mktree_host(const char *root, unsigned n_cpus)
{
	char list[32];

	snprintf(list, sizeof(list), n_cpus > 1 ? "0-%u\n" : "%u\n", n_cpus - 1);
	test_write(root, CPU_DIR "present", list);
	test_write(root, CPU_DIR "online", list);
	test_write(root, CPU_DIR "cpuidle/current_driver", "intel_idle\n");
	test_write(root, CPU_DIR "cpuidle/current_governor", "menu\n");
	test_write(root, "proc/cpuinfo",
		   "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
		   "model name\t: made up\nflags\t\t: fpu tsc arat monitor\n\n");
	test_write(root, "proc/cmdline", "quiet\n");
	test_write(root, "proc/sys/kernel/osrelease", "6.12.0\n");
	for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
		test_write(root, mktree_cpu(cpu, "power/pm_qos_resume_latency_us"), "0\n");
		if (cpu > 0)
			test_write(root, mktree_cpu(cpu, "online"), "1\n");
	}
}

struct state {
	char name[32], desc[64];
	unsigned latency, residency;
	bool off;
};

static const char *parse(const char *p, struct state *ret)
{
	size_t len, n_desc;
	int n = 0;

	ck_assert(sscanf(p, " %31s %u/%u %n", ret->name, &ret->latency, &ret->residency, &n) == 3);
	p += n;
	len = strlen(ret->name);
	ret->off = ret->name[len - 1] == '!';
	if (ret->off)
		ret->name[len - 1] = '\0';
	for (char *c = ret->name; *c; c++)
		if (*c == '_')
			*c = ' ';
	n_desc = strcspn(p, ",");
	snprintf(ret->desc, sizeof(ret->desc), "%.*s", (int)n_desc, p);
	return p[n_desc] ? p + n_desc + 1 : NULL;
}

static void write_attr(const char *root, unsigned cpu, unsigned index, const char *attr,
		       const char *value)
{
	char tail[64], line[80];

	snprintf(tail, sizeof(tail), "cpuidle/state%u/%s", index, attr);
	snprintf(line, sizeof(line), "%s\n", value);
	test_write(root, mktree_cpu(cpu, tail), line);
}

static void write_state(const char *root, unsigned cpu, unsigned index, const struct state *s)
{
	char number[16];

	write_attr(root, cpu, index, "name", s->name);
	write_attr(root, cpu, index, "desc", s->desc);
	snprintf(number, sizeof(number), "%u", s->latency);
	write_attr(root, cpu, index, "latency", number);
	snprintf(number, sizeof(number), "%u", s->residency);
	write_attr(root, cpu, index, "residency", number);
	write_attr(root, cpu, index, "disable", s->off ? "1" : "0");
	write_attr(root, cpu, index, "default_status", s->off ? "disabled" : "enabled");
}

void mktree_states(const char *root, unsigned first, unsigned last, const char *states)
{
	unsigned index = 0;

	for (const char *p = states; p && *p; index++) {
		struct state s;

		p = parse(p, &s);
		for (unsigned cpu = first; cpu <= last; cpu++)
			write_state(root, cpu, index, &s);
	}
}

void mktree_drop(const char *root, const char *path)
{
	char full[4096];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	ck_assert_msg(remove(full) == 0, "%s: %s", full, strerror(errno));
}
