/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look.h"
#include "snapshot.h"
#include "wire.h"

#define CPU_DIR	   "/sys/devices/system/cpu/"
#define DEEPEST	   2U /* POLL, C1, C2 */
#define NOBODYS_US 2000000000 /* what the kernel says of cpu_dma_latency without a request */
#define LIMITS_MAX 64
#define ONE_LINE   128
#define CGROUP_DIR "/sys/fs/cgroup/soak/"

static struct wire wire;
static bool wire_is_open;

bool look_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return n > 0;
}

void look_reopen(bool module)
{
	if (wire_is_open)
		wire_close(&wire);
	wire_is_open = module && wire_open(&wire) == 0;
}

/* 0 is no limit there, n/a is zero. */
static int read_qos(unsigned cpu)
{
	char path[ONE_LINE], text[ONE_LINE];
	int us;

	snprintf(path, sizeof(path), CPU_DIR "cpu%u/power/pm_qos_resume_latency_us", cpu);
	if (!look_line(path, text, sizeof(text)))
		return -1;
	if (!strcmp(text, "n/a"))
		return 0;
	us = (int)strtol(text, NULL, 10);
	return us ? us : NO_LIMIT;
}

static int read_global(void)
{
	int fd = open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC), us = -1;

	if (fd < 0 || read(fd, &us, sizeof(us)) != sizeof(us))
		us = -1;
	if (fd >= 0)
		close(fd);
	return us == NOBODYS_US ? NO_LIMIT : us;
}

static unsigned list_mask(const char *text)
{
	unsigned mask = 0;
	char *end;

	while (*text >= '0' && *text <= '9') {
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS; first++)
			mask |= 1U << first;
		text = *end == ',' ? end + 1 : end;
	}
	return mask;
}

static void read_cgroups(struct model *m)
{
	char path[ONE_LINE], text[ONE_LINE];

	for (unsigned i = 0; i < N_CGROUPS; i++) {
		if (!m->cgroups[i].exists)
			continue;
		snprintf(path, sizeof(path), CGROUP_DIR "g%u/cpuset.cpus.effective", i);
		if (look_line(path, text, sizeof(text)))
			m->cgroups[i].effective = list_mask(text);
	}
}

/* The module's ID 0: the kernel's own limit of each CPU, whoever asks for it. */
static bool read_limits(struct kernel *k)
{
	struct wire_limit limits[LIMITS_MAX];
	int n = wire_is_open ? wire_limits(&wire, limits, LIMITS_MAX) : -1;

	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		k->limit_us[cpu] = NO_LIMIT;
	for (int i = 0; i < n; i++)
		for (unsigned cpu = 0; limits[i].id == 0 && cpu < CPUS; cpu++)
			if (limits[i].mask0 >> cpu & 1)
				k->limit_us[cpu] = (int)(limits[i].ns / 1000);
	return n >= 0;
}

int look_limit(unsigned cpu)
{
	struct kernel k;

	return read_limits(&k) ? k.limit_us[cpu] : -1;
}

static void read_files(struct kernel *k)
{
	char path[ONE_LINE], text[ONE_LINE];

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		k->file_us[cpu] = k->limit_us[cpu] = read_qos(cpu);
		if (!(k->online >> cpu & 1))
			continue;
		snprintf(path, sizeof(path), CPU_DIR "cpu%u/cpuidle/state%u/disable", cpu, DEEPEST);
		(void)look_line(path, text, sizeof(text));
		k->file_off[cpu] = *text == '1';
	}
}

bool look_take(struct model *m, struct kernel *ret)
{
	char text[ONE_LINE];
	bool good = look_line(CPU_DIR "online", text, sizeof(text));

	*ret = (struct kernel){.online = list_mask(text), .global_us = read_global()};
	read_cgroups(m);
	read_files(ret);
	if (m->module)
		good = read_limits(ret) && good;
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		if (ret->global_us < ret->limit_us[cpu])
			ret->limit_us[cpu] = ret->global_us;
	return good;
}

bool look_states(struct kernel *k)
{
	struct snapshot s;

	if (!snapshot_take(&s))
		return false;
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		k->off[cpu] = k->online >> cpu & 1 && s.disable[cpu][DEEPEST] != 0;
	k->knows_off = true;
	return true;
}

int look_requests(void)
{
	struct wire_limit limits[LIMITS_MAX];
	int n = wire_is_open ? wire_limits(&wire, limits, LIMITS_MAX) : 0, found = 0;

	for (int i = 0; i < n; i++)
		found += limits[i].id != 0;
	return found;
}

const char *look_leftovers(void)
{
	struct wire_caps caps;

	if (!wire_is_open)
		return NULL;
	if (wire_caps(&wire, &caps))
		return "the module does not answer";
	if (caps.owner[0])
		return "somebody has the lease";
	return look_requests() ? "the kernel keeps requests of nobody" : NULL;
}

/* ---- all of it, for the end ---- */

static void put_files(FILE *f, const char *pattern)
{
	char text[ONE_LINE];
	glob_t g;

	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			if (look_line(g.gl_pathv[i], text, sizeof(text)))
				fprintf(f, "%s %s\n", g.gl_pathv[i], text);
	globfree(&g);
}

static void put_memory(FILE *f)
{
	struct snapshot s;
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	if (!snapshot_take(&s)) {
		fprintf(f, "the kernel's memory cannot be read\n");
		return;
	}
	for (size_t i = 0; i < sizeof(s.table); i++)
		hash = (hash ^ s.table[i]) * UINT64_C(0x100000001b3);
	fprintf(f, "driver %s at %" PRIx64 ", %d states, table %016" PRIx64 "\n", s.name, s.driver,
		s.states, hash);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		for (int i = 0; i < s.states; i++)
			fprintf(f, "cpu %u state %d disable %" PRIx64 "\n", cpu, i,
				s.disable[cpu][i]);
	for (int i = 0; i < s.states; i++)
		fprintf(f, "state %d enter %" PRIx64 "\n", i, s.enter[i]);
}

char *look_all(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	put_files(f, CPU_DIR "cpu[0-9]*/online");
	put_files(f, CPU_DIR "cpu[0-9]*/power/pm_qos_resume_latency_us");
	put_files(f, CPU_DIR "cpu[0-9]*/cpuidle/state*/disable");
	put_files(f, CPU_DIR "umwait_control/*");
	put_files(f, CPU_DIR "cpuidle/current_*");
	put_files(f, "/sys/module/haltpoll/parameters/*");
	put_files(f, "/run/cpuidled/restore");
	fprintf(f, "cpu_dma_latency %d\n", read_global());
	put_memory(f);
	fclose(f);
	return text;
}
