// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "snapshot.h"
#include "tap.h"

/* Layout of 6.1 to 7.2, x86-64 with CONFIG_SUSPEND: looked up in <linux/cpuidle.h> */
#define DRIVER_STATES  24
#define DRIVER_COUNT   (DRIVER_STATES + 104 * SNAPSHOT_STATES)
#define STATE_SIZE     104
#define STATE_ENTER    80
#define DEVICE_USAGE   48
#define USAGE_SIZE     64
#define VETO	       (1ULL << 16)

/* One driver for all CPUs, or where the kernel is built for several, one word for each CPU. */
static uint64_t sym_driver, sym_drivers, sym_devices, sym_offsets, sym_text, sym_etext;

/* A line of kallsyms, cut in place: sscanf() takes emulated seconds for all of them. */
static const char *snapshot_symbol(char *line, uint64_t *addr)
{
	char *end;

	*addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return "";
	end[3 + strcspn(end + 3, "\t\n")] = 0;
	return end + 3;
}

static void snapshot_symbols(void)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} want[] = {
		{ "cpuidle_curr_driver", &sym_driver }, { "cpuidle_drivers", &sym_drivers },
		{ "cpuidle_devices", &sym_devices },	{ "__per_cpu_offset", &sym_offsets },
		{ "_stext", &sym_text },		{ "_etext", &sym_etext },
	};
	/* a kernel has one of the first two */
	unsigned int i, n = sizeof(want) / sizeof(want[0]), left = n - 1;
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512];

	while (f && left && fgets(line, sizeof(line), f)) {
		uint64_t addr;
		const char *name = snapshot_symbol(line, &addr);

		for (i = 0; i < n; i++)
			if (!*want[i].value && !strcmp(name, want[i].name)) {
				*want[i].value = addr;
				left--;
			}
	}
	if (f)
		fclose(f);
}

static bool kcore_has(const Elf64_Phdr *p, uint64_t addr, size_t len)
{
	return p->p_type == PT_LOAD && addr >= p->p_vaddr && addr + len <= p->p_vaddr + p->p_memsz;
}

/* The kernel makes its headers anew for each read, so those found are kept: they stay as long as it runs. */
static bool kcore_find(int fd, uint64_t addr, size_t len, Elf64_Phdr *ret)
{
	static Elf64_Phdr kept[4];
	static unsigned int turn;
	Elf64_Ehdr e;
	int i;

	for (i = 0; i < 4; i++) {
		*ret = kept[i];
		if (kcore_has(ret, addr, len))
			return true;
	}
	if (pread(fd, &e, sizeof(e), 0) != sizeof(e))
		return false;
	for (i = 0; i < e.e_phnum; i++) {
		if (pread(fd, ret, sizeof(*ret), e.e_phoff + i * sizeof(*ret)) != sizeof(*ret))
			return false;
		if (kcore_has(ret, addr, len)) {
			kept[turn++ % 4] = *ret;
			return true;
		}
	}
	return false;
}

static bool kcore_read(int fd, uint64_t addr, void *buf, size_t len)
{
	Elf64_Phdr p;

	return kcore_find(fd, addr, len, &p) &&
	       pread(fd, buf, len, p.p_offset + addr - p.p_vaddr) == (ssize_t)len;
}

bool snapshot_code(const char *function, unsigned char *buf, size_t len)
{
	int fd = open("/proc/kcore", O_RDONLY);
	FILE *f = fopen("/proc/kallsyms", "r");
	bool good = false;
	char line[512];
	uint64_t addr;

	while (fd >= 0 && f && !good && fgets(line, sizeof(line), f))
		if (!strcmp(snapshot_symbol(line, &addr), function))
			good = kcore_read(fd, addr, buf, len);
	if (f)
		fclose(f);
	close(fd);
	return good;
}

static bool snapshot_driver_of(int fd, int cpu, uint64_t *driver)
{
	uint64_t offset;

	if (sym_driver)
		return kcore_read(fd, sym_driver, driver, 8);
	return kcore_read(fd, sym_offsets + 8 * cpu, &offset, 8) &&
	       kcore_read(fd, sym_drivers + offset, driver, 8);
}

/* The table is CPU 0's. */
static bool snapshot_driver(int fd, struct snapshot *s)
{
	uint64_t name;
	int i;

	if (!snapshot_driver_of(fd, 0, &s->driver))
		return false;
	if (!s->driver)
		return true;
	if (!kcore_read(fd, s->driver, s->table, sizeof(s->table)))
		return false;
	memcpy(&name, s->table, 8);
	if (!kcore_read(fd, name, s->name, sizeof(s->name) - 1))
		return false;
	memcpy(&s->states, s->table + DRIVER_COUNT, 4);
	for (i = 0; i < s->states && i < SNAPSHOT_STATES; i++)
		memcpy(&s->enter[i], s->table + DRIVER_STATES + i * STATE_SIZE + STATE_ENTER, 8);
	return true;
}

static bool snapshot_device(int fd, struct snapshot *s, int cpu)
{
	uint64_t offset, dev;
	int i;

	if (!snapshot_driver_of(fd, cpu, &s->driver_of[cpu]) ||
	    !kcore_read(fd, sym_offsets + 8 * cpu, &offset, 8) ||
	    !kcore_read(fd, sym_devices + offset, &dev, 8))
		return false;
	s->device[cpu] = dev;
	for (i = 0; dev && i < s->states; i++)
		if (!kcore_read(fd, dev + DEVICE_USAGE + i * USAGE_SIZE, &s->disable[cpu][i], 8))
			return false;
	return true;
}

bool snapshot_take(struct snapshot *s)
{
	int fd = open("/proc/kcore", O_RDONLY), cpu, n = sysconf(_SC_NPROCESSORS_CONF);
	bool good;

	memset(s, 0, sizeof(*s));
	if (!sym_offsets)
		snapshot_symbols();
	good = fd >= 0 && (sym_driver || sym_drivers) && sym_devices && sym_offsets && snapshot_driver(fd, s);
	for (cpu = 0; good && cpu < n && cpu < SNAPSHOT_CPUS; cpu++)
		good = snapshot_device(fd, s, cpu);
	close(fd);
	if (!good)
		tap_note("the kernel's memory cannot be read");
	return good;
}

void snapshot_print(const struct snapshot *s)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t k;
	int i, cpu;

	for (k = 0; k < sizeof(s->table); k++)
		hash = (hash ^ s->table[k]) * 0x100000001b3;
	printf("driver %s %016" PRIx64 " states %d table %016" PRIx64 "\n",
	       s->driver ? s->name : "none", s->driver, s->states, hash);
	for (i = 0; i < s->states; i++)
		printf("enter %d %016" PRIx64 "\n", i, s->enter[i]);
	for (cpu = 0; cpu < SNAPSHOT_CPUS; cpu++) {
		if (s->driver_of[cpu] != s->driver)
			printf("cpu %d driver %016" PRIx64 "\n", cpu, s->driver_of[cpu]);
		if (!s->device[cpu])
			continue;
		printf("cpu %d disable", cpu);
		for (i = 0; i < s->states; i++)
			printf(" %" PRIx64, s->disable[cpu][i]);
		printf("\n");
	}
}

int snapshot_foreign(const struct snapshot *s)
{
	int i, n = 0;

	for (i = 0; i < s->states; i++)
		if (s->enter[i] < sym_text || s->enter[i] >= sym_etext)
			n++;
	return n;
}

bool snapshot_vetoed(const struct snapshot *s, int cpu, int state)
{
	return s->disable[cpu][state] & VETO;
}

bool snapshot_any_veto(const struct snapshot *s)
{
	int cpu, i;

	for (cpu = 0; cpu < SNAPSHOT_CPUS; cpu++)
		for (i = 0; i < SNAPSHOT_STATES; i++)
			if (snapshot_vetoed(s, cpu, i))
				return true;
	return false;
}

bool snapshot_equal(const struct snapshot *a, const struct snapshot *b)
{
	return !memcmp(a->driver_of, b->driver_of, sizeof(a->driver_of)) &&
	       !memcmp(a->table, b->table, sizeof(a->table)) &&
	       !memcmp(a->disable, b->disable, sizeof(a->disable));
}
