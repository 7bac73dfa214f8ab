/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts.h"

#include "readfile.h"

#define TEXT_MAX 32768U /* one CPU of cpuinfo has some 2 kB; a command line has 4 kB at most */
#define WORD_MAX 64U

/* PM_QOS_CPU_LATENCY_DEFAULT_VALUE: nobody asks for anything. */
#define GLOBAL_NONE_US 2000000000

struct facts {
	int root;
	int cpu_dir;
	struct diag_list *diags;
	struct machine *m;
	char text[TEXT_MAX];
	char flags[TEXT_MAX];
};

/* Is word one of the blank-separated words of list? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(list, word); p; p = strstr(p + n, word))
		if ((p == list || p[-1] == ' ' || p[-1] == '\t') &&
		    (p[n] == ' ' || p[n] == '\n' || p[n] == '\0'))
			return true;
	return false;
}

/* Value of a line "key\t: value" of cpuinfo, "" when there is none. */
static void cpuinfo_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t n_key = strlen(key), n;

	*buf = '\0';
	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, n_key) != 0)
			continue;
		p += n_key;
		p += strspn(p, " \t");
		if (*p != ':')
			continue;
		p++;
		p += strspn(p, " \t");
		n = MIN_OF(strcspn(p, "\n"), size - 1);
		memcpy(buf, p, n);
		buf[n] = '\0';
		return;
	}
}

/* The first CPU speaks for all: vendor, family and features do not differ within one host. */
static void read_cpuinfo(struct facts *f)
{
	char number[16];
	uint64_t value;

	if (readfile_at(f->root, "proc/cpuinfo", f->text, sizeof(f->text)) < 0)
		return;
	cpuinfo_value(f->text, "vendor_id", f->m->vendor, sizeof(f->m->vendor));
	cpuinfo_value(f->text, "cpu family", number, sizeof(number));
	if (units_parse_u64(number, 0, UINT32_MAX, &value) == 0)
		f->m->family = (uint32_t)value;
	cpuinfo_value(f->text, "model", number, sizeof(number));
	if (units_parse_u64(number, 0, UINT32_MAX, &value) == 0)
		f->m->model = (uint32_t)value;
	cpuinfo_value(f->text, "flags", f->flags, sizeof(f->flags));
	f->m->arat = has_word(f->flags, "arat");
	if (has_word(f->flags, "hypervisor"))
		f->m->virt = VIRT_GUEST;
	if (!has_word(f->flags, "waitpkg"))
		return;
	for (uint32_t cpu = 0; cpu < f->m->n_cpus; cpu++)
		f->m->cpus[cpu].waitpkg = f->m->cpus[cpu].present;
}

/* Where the CPU does not tell (arm64): the haltpoll driver, the firmware's tables. */
static void read_virt(struct facts *f)
{
	static const char *const vendors[] = {"QEMU", "VMware, Inc."};
	char buf[WORD_MAX];

	if (streq(f->m->driver, "haltpoll") ||
	    readfile_line(f->root, "proc/device-tree/hypervisor/compatible", buf, sizeof(buf)) > 0)
		f->m->virt = VIRT_GUEST;
	/* x86 has told already. Vendors whose bare metal bears the same name say nothing. */
	if (*f->m->vendor ||
	    readfile_line(f->root, "sys/class/dmi/id/sys_vendor", buf, sizeof(buf)) < 0)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(vendors); i++)
		if (streq(buf, vendors[i]))
			f->m->virt = VIRT_GUEST;
}

/* A number up to max. What is no such number counts as no file: there is nothing to put back then. */
static void read_knob(int dir, const char *path, uint64_t max, struct machine_knob *ret)
{
	char buf[WORD_MAX];
	int n = readfile_line(dir, path, buf, sizeof(buf));

	if (n < 0)
		return;
	ret->cut = n == 0;
	if (n > 0 && units_parse_u64(buf, 0, max, &ret->now) < 0)
		return;
	ret->prior = ret->now;
	ret->present = true;
}

static void read_haltpoll(struct facts *f)
{
	struct machine_haltpoll *h = &f->m->haltpoll;
	uint64_t value;

	read_knob(f->root, FACTS_HALTPOLL "ns", UINT32_MAX, &f->m->knobs[HOST_HALTPOLL]);
	(void)readfile_u64(f->root, FACTS_HALTPOLL "grow_start", &h->grow_start_ns);
	if (readfile_u64(f->root, FACTS_HALTPOLL "grow", &value) == 0)
		h->grow = (uint32_t)value;
	if (readfile_u64(f->root, FACTS_HALTPOLL "shrink", &value) == 0)
		h->shrink = (uint32_t)value;
	h->allow_shrink = readfile_switch(f->root, FACTS_HALTPOLL "allow_shrink") == 1;
}

/*
 * Four bytes, binary, in the CPU's own byte order. Opening for reading makes no request. Not being allowed
 * to look is no trouble of the host: only root may.
 */
static void read_global(struct facts *f)
{
	char buf[16];
	int32_t us;
	int n = readfile_at(f->root, "dev/cpu_dma_latency", buf, sizeof(buf));

	if (n == -ENOENT)
		return;
	if (n < 0) {
		diag_add(
			f->diags, DIAG_INFO, NULL, 0,
			"dev/cpu_dma_latency cannot be read (%s); requests of others there are unknown",
			strerror(-n));
		return;
	}
	memcpy(&us, buf, sizeof(us));
	if (n != sizeof(us) || us < 0) {
		diag_add(
			f->diags, DIAG_WARNING, NULL, 0,
			"dev/cpu_dma_latency holds %d bytes that are no latency; the kernel shows 4, a binary number of microseconds",
			n);
		return;
	}
	f->m->has_global = true;
	if (us < GLOBAL_NONE_US)
		f->m->global_ns = (uint64_t)us * NSEC_PER_USEC;
	f->m->global_others_ns = f->m->global_ns;
}

static int read_text(struct facts *f, const char *path, char **ret)
{
	if (readfile_line(f->root, path, f->text, sizeof(f->text)) < 0)
		return 0;
	*ret = strdup(f->text);
	return *ret ? 0 : -ENOMEM;
}

static void read_cpuidle(struct facts *f)
{
	struct machine *m = f->m;

	(void)readfile_line(f->cpu_dir, "cpuidle/current_driver", m->driver, sizeof(m->driver));
	if (!*m->driver)
		memcpy(m->driver, "none", sizeof("none"));
	if (readfile_line(f->cpu_dir, "cpuidle/current_governor", m->governor,
			  sizeof(m->governor)) < 0)
		(void)readfile_line(f->cpu_dir, "cpuidle/current_governor_ro", m->governor,
				    sizeof(m->governor));
	m->c1_demotion = readfile_switch(f->cpu_dir, "cpuidle/intel_c1_demotion");
	read_knob(f->cpu_dir, "umwait_control/enable_c02", 1, &m->knobs[HOST_UMWAIT_C02]);
	read_knob(f->cpu_dir, "umwait_control/max_time", UINT32_MAX, &m->knobs[HOST_UMWAIT_MAX]);
}

int facts_read(int root_fd, int cpu_dir, struct diag_list *diags, struct machine *m)
{
	_cleanup_free_ struct facts *f = malloc(sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->root = root_fd;
	f->cpu_dir = cpu_dir;
	f->diags = diags;
	f->m = m;
	read_cpuidle(f);
	read_cpuinfo(f);
	read_virt(f);
	read_haltpoll(f);
	read_global(f);
	return read_text(f, "proc/cmdline", &m->cmdline);
}
