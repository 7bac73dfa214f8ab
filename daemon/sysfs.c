/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysfs.h"

#include "facts.h"
#include "readfile.h"
#include "topology.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * Reading is made for hosts of hundreds of CPUs: every file costs openat, read and close and little else.
 * Paths below cpuN/cpuidle are made once, text is looked at only where it differs from that of the
 * CPU before.
 */
#define CPU_DIR "sys/devices/system/cpu"

#define ATTR_TEXT_MAX 64U /* the longest the kernel shows is CPUIDLE_DESC_LEN, 32 */

/* Largest value of the per-CPU file: PM_QOS_RESUME_LATENCY_NO_CONSTRAINT is S32_MAX. */
#define QOS_MAX_US UINT64_C(2147483646)
/* What defines a state; DISABLE is last, since it is a setting and not part of the table. */
enum attr {
	ATTR_NAME,
	ATTR_DESC,
	ATTR_LATENCY,
	ATTR_RESIDENCY,
	ATTR_DEFAULT,
	ATTR_TABLE_N,
	ATTR_DISABLE = ATTR_TABLE_N,
	ATTR_N
};

struct attr_text {
	int16_t n; /* length, or -errno */
	char text[ATTR_TEXT_MAX];
};

/* CPUs with the same kind of unreadable file, told in one line. */
struct trouble {
	struct cpuset cpus;
	int error; /* of the first one */
};

struct reader {
	int root;
	int cpu_dir;
	struct machine *m;
	struct diag_list *diags;

	char paths[MACHINE_STATES_MAX][ATTR_N][sizeof("state9/default_status")];
	struct attr_text last[MACHINE_STATES_MAX][ATTR_TABLE_N]; /* the CPU before */
	uint32_t n_last; /* states it has */
	uint16_t last_table;

	struct trouble qos, disable, tables;
};

int sysfs_open_root(const char *root, int *ret_fd)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Spelling of the kernel's files ------------------------------------------------------------------ */

const char *sysfs_format_qos(uint64_t ns, char *buf, size_t size)
{
	uint64_t whole = sysfs_qos_granularity(ns);

	if (whole == LATENCY_NONE)
		snprintf(buf, size, "0\n");
	else if (whole == 0)
		snprintf(buf, size, "n/a\n");
	else
		snprintf(buf, size, "%" PRIu64 "\n", whole / NSEC_PER_USEC);
	return buf;
}

int sysfs_parse_qos(const char *text, uint64_t *ret_ns)
{
	char buf[ATTR_TEXT_MAX];
	uint64_t us;
	size_t n = strcspn(text, "\n");
	int r;

	if (n >= sizeof(buf) || (text[n] == '\n' && text[n + 1] != '\0'))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	if (streq(buf, "n/a")) {
		*ret_ns = 0;
		return 0;
	}
	r = units_parse_u64(buf, 0, QOS_MAX_US, &us);
	if (r < 0)
		return -EINVAL;
	*ret_ns = us == 0 ? LATENCY_NONE : us * NSEC_PER_USEC;
	return 0;
}

uint64_t sysfs_qos_granularity(uint64_t ns)
{
	if (ns == LATENCY_NONE)
		return LATENCY_NONE;
	return MIN_OF(ns / NSEC_PER_USEC, QOS_MAX_US) * NSEC_PER_USEC;
}

const char *sysfs_qos_path(uint32_t cpu, char *buf, size_t size)
{
	snprintf(buf, size, CPU_DIR "/cpu%" PRIu32 "/power/pm_qos_resume_latency_us", cpu);
	return buf;
}

const char *sysfs_disable_path(uint32_t cpu, uint32_t state, char *buf, size_t size)
{
	snprintf(buf, size, CPU_DIR "/cpu%" PRIu32 "/cpuidle/state%" PRIu32 "/disable", cpu, state);
	return buf;
}

const char *sysfs_knob_path(enum host_knob which, char *buf, size_t size)
{
	if (which == HOST_HALTPOLL)
		snprintf(buf, size, FACTS_HALTPOLL "ns");
	else
		snprintf(buf, size, CPU_DIR "/%s", machine_knob_name(which));
	return buf;
}

/* Trouble ------------------------------------------------------------------------------------------ */

static int trouble_add(struct trouble *t, uint32_t n_cpus, uint32_t cpu, int error)
{
	if (!t->cpus.size) {
		int r = cpuset_init(&t->cpus, n_cpus);

		if (r < 0)
			return r;
		t->error = error;
	}
	cpuset_add(&t->cpus, cpu);
	return 0;
}

/* One line for all CPUs of t: "sys/.../cpu[3-5]/FILE: what (why); consequence". */
static int trouble_tell(struct trouble *t, struct diag_list *diags, const char *file,
			const char *consequence)
{
	_cleanup_free_ char *list = NULL;

	if (!t->cpus.size)
		return 0;
	list = cpuset_to_string(&t->cpus);
	if (!list)
		return -ENOMEM;
	diag_add(diags, DIAG_WARNING, NULL, 0, "%s/cpu[%s]/%s cannot be used (%s); %s", CPU_DIR,
		 list, file,
		 t->error == -EINVAL ? "holds something that is no value of it"
				     : strerror(-t->error),
		 consequence);
	return 0;
}

/* Idle states -------------------------------------------------------------------------------------- */

static const char *const attr_names[ATTR_N] = {
	[ATTR_NAME] = "name",
	[ATTR_DESC] = "desc",
	[ATTR_LATENCY] = "latency",
	[ATTR_RESIDENCY] = "residency",
	[ATTR_DEFAULT] = "default_status",
	[ATTR_DISABLE] = "disable",
};

static void make_paths(struct reader *rd)
{
	for (uint32_t s = 0; s < MACHINE_STATES_MAX; s++)
		for (unsigned a = 0; a < ATTR_N; a++) {
			char *p = stpcpy(rd->paths[s][a], "state0/");

			p[-2] = (char)('0' + s);
			stpcpy(p, attr_names[a]);
		}
}

/* Reads one attribute into slot. Returns whether it differs from what was there. */
static bool reread(int dir, const char *path, struct attr_text *slot)
{
	char buf[ATTR_TEXT_MAX];
	int n = readfile_at(dir, path, buf, sizeof(buf));

	if (n == slot->n && (n <= 0 || memcmp(buf, slot->text, (size_t)n) == 0))
		return false;
	slot->n = (int16_t)n;
	if (n > 0)
		memcpy(slot->text, buf, (size_t)n);
	return true;
}

static void copy_text(char *dst, size_t size, const struct attr_text *t)
{
	size_t n = t->n > 0 ? MIN_OF((size_t)t->n, size - 1) : 0;

	memcpy(dst, t->text, n);
	dst[n] = '\0';
	dst[strcspn(dst, "\n")] = '\0';
}

/*
 * Microseconds of the file as ns. LATENCY_NONE where that is not known: every limit then excludes the
 * state, which is the safe side.
 */
static uint64_t text_us(const struct attr_text *t, bool *bad)
{
	char buf[ATTR_TEXT_MAX];
	uint64_t us;

	copy_text(buf, sizeof(buf), t);
	if (units_parse_u64(buf, 0, UINT32_MAX, &us) < 0) {
		*bad = true;
		return LATENCY_NONE;
	}
	return us * NSEC_PER_USEC;
}

static void text_to_state(const struct attr_text t[ATTR_TABLE_N], uint32_t index,
			  struct idle_state *ret, bool *bad)
{
	char status[ATTR_TEXT_MAX];

	copy_text(ret->name, sizeof(ret->name), &t[ATTR_NAME]);
	if (!*ret->name) {
		snprintf(ret->name, sizeof(ret->name), "state%" PRIu32, index);
		*bad = true;
	}
	copy_text(ret->desc, sizeof(ret->desc), &t[ATTR_DESC]);
	ret->exit_latency_ns = text_us(&t[ATTR_LATENCY], bad);
	ret->target_residency_ns = text_us(&t[ATTR_RESIDENCY], bad);
	/* Kernels before 5.6 have no such file, and no such states. */
	copy_text(status, sizeof(status), &t[ATTR_DEFAULT]);
	ret->default_off = streq(status, "disabled");
}

/*
 * Is this the state that cpuidle_policy.ko puts in? With the module in the kernel: a driver of later days may
 * have one of that name itself.
 */
static bool is_own(const struct reader *rd, const struct attr_text t[ATTR_TABLE_N])
{
	return t[ATTR_NAME].n > 3 && memcmp(t[ATTR_NAME].text, "C0.", 3) == 0 &&
	       t[ATTR_DESC].n > 6 && memcmp(t[ATTR_DESC].text, "UMWAIT", 6) == 0 &&
	       faccessat(rd->root, "sys/module/cpuidle_policy", F_OK, 0) == 0;
}

static int intern_last(struct reader *rd, uint32_t cpu)
{
	struct idle_table table = {.n = 0};
	bool bad = false;
	int r;

	for (uint32_t s = 0; s < rd->n_last; s++)
		if (s == 0 || !is_own(rd, rd->last[s])) {
			text_to_state(rd->last[s], table.n, &table.states[table.n], &bad);
			table.n++;
		}
	if (bad) {
		r = trouble_add(&rd->tables, rd->m->n_cpus, cpu, -EINVAL);
		if (r < 0)
			return r;
	}
	r = machine_intern_table(rd->m, &table, &rd->last_table);
	if (r == -ENOSPC) {
		rd->last_table = MACHINE_NO_TABLE;
		return trouble_add(&rd->tables, rd->m->n_cpus, cpu, r);
	}
	return r;
}

static void note_own(struct reader *rd, uint32_t cpu, uint32_t file, int dir)
{
	char buf[ATTR_TEXT_MAX];
	bool bad = false;

	if (!rd->m->own_row)
		text_to_state(rd->last[file], file, &rd->m->own_state, &bad);
	rd->m->own_row = (uint8_t)file;
	rd->m->cpus[cpu].own_off =
		readfile_at(dir, rd->paths[file][ATTR_DISABLE], buf, sizeof(buf)) > 0 &&
		buf[0] != '0';
}

static int read_disable(struct reader *rd, int dir, uint32_t cpu, uint32_t file)
{
	struct machine_cpu *c = &rd->m->cpus[cpu];
	char buf[ATTR_TEXT_MAX];
	int n = readfile_at(dir, rd->paths[file][ATTR_DISABLE], buf, sizeof(buf));
	bool behind = rd->m->own_row && file > rd->m->own_row;
	uint16_t bit = (uint16_t)(1U << (file - behind));

	if (n < 0)
		return trouble_add(&rd->disable, rd->m->n_cpus, cpu, n);
	/* The kernel shows 0 or 1; any other number means disabled, too. */
	if (n == 0 || buf[0] == '\n')
		c->cut |= bit;
	else if (buf[0] != '0')
		c->disabled |= bit;
	return 0;
}

static int read_states(struct reader *rd, int dir, uint32_t cpu)
{
	bool changed = false;
	uint32_t s;
	int r;

	for (s = 0; s < MACHINE_STATES_MAX; s++) {
		struct attr_text *t = rd->last[s];

		changed |= reread(dir, rd->paths[s][ATTR_NAME], &t[ATTR_NAME]);
		if (t[ATTR_NAME].n == -ENOENT || t[ATTR_NAME].n == -ENOTDIR)
			break;
		for (unsigned a = ATTR_NAME + 1; a < ATTR_TABLE_N; a++)
			changed |= reread(dir, rd->paths[s][a], &t[a]);
		if (s > 0 && is_own(rd, t)) {
			note_own(rd, cpu, s, dir);
			continue;
		}
		r = read_disable(rd, dir, cpu, s);
		if (r < 0)
			return r;
	}
	if (s == 0)
		return 0;
	if (changed || s != rd->n_last) {
		rd->n_last = s;
		r = intern_last(rd, cpu);
		if (r < 0)
			return r;
	}
	rd->m->cpus[cpu].table = rd->last_table;
	return 0;
}

/* One CPU ------------------------------------------------------------------------------------------ */

static int read_cpuidle(struct reader *rd, uint32_t cpu)
{
	char path[READFILE_CPU_PATH_MAX];
	int dir, r;

	dir = openat(rd->cpu_dir, readfile_cpu_path(cpu, "cpuidle", path),
		     O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		if (errno == ENOENT)
			return 0;
		return trouble_add(&rd->tables, rd->m->n_cpus, cpu, -errno);
	}
	r = read_states(rd, dir, cpu);
	close(dir);
	return r;
}

static int read_qos(struct reader *rd, uint32_t cpu)
{
	struct machine_cpu *c = &rd->m->cpus[cpu];
	char path[READFILE_CPU_PATH_MAX], buf[ATTR_TEXT_MAX];
	int n = readfile_at(rd->cpu_dir,
			    readfile_cpu_path(cpu, "power/pm_qos_resume_latency_us", path), buf,
			    sizeof(buf));

	if (n == -ENOENT)
		return 0;
	if (n >= 0 && (n == 0 || buf[0] == '\n'))
		c->cut |= 1U << MACHINE_BIT_QOS;
	else if (n >= 0)
		n = sysfs_parse_qos(buf, &c->qos_ns);
	if (n < 0)
		return trouble_add(&rd->qos, rd->m->n_cpus, cpu, n);
	c->has_qos = true;
	return 0;
}

/* The list of online CPUs has been taken over already; a CPU's own file may still say no. */
static void read_cpu_online(struct reader *rd, uint32_t cpu)
{
	char path[READFILE_CPU_PATH_MAX], buf[8];

	if (readfile_at(rd->cpu_dir, readfile_cpu_path(cpu, "online", path), buf, sizeof(buf)) >
		    0 &&
	    buf[0] == '0')
		rd->m->cpus[cpu].online = false;
}

static int read_cpu(struct reader *rd, uint32_t cpu)
{
	struct machine_cpu *c = &rd->m->cpus[cpu];
	int r;

	if (c->online)
		read_cpu_online(rd, cpu);
	if (c->online) {
		r = read_cpuidle(rd, cpu);
		if (r < 0)
			return r;
	}
	r = read_qos(rd, cpu);
	if (r < 0)
		return r;
	c->qos_prior_ns = c->qos_ns;
	c->disabled_prior = c->disabled;
	return 0;
}

/* The host ----------------------------------------------------------------------------------------- */

/* How many rows: the largest number of a present CPU and one. */
static int count_cpus(int cpu_dir, uint32_t *ret)
{
	_cleanup_free_ char *buf = malloc(READFILE_LIST_MAX);
	uint32_t max;
	int r;

	if (!buf)
		return -ENOMEM;
	r = readfile_at(cpu_dir, "present", buf, READFILE_LIST_MAX);
	if (r < 0)
		r = readfile_at(cpu_dir, "online", buf, READFILE_LIST_MAX);
	if (r >= 0)
		r = cpuset_list_max(buf, &max);
	if (r < 0)
		return -ENODEV;
	if (max >= CPU_MAX)
		return -E2BIG;
	*ret = max + 1;
	return 0;
}

/* Without a list all present ones count, unless their own files say otherwise. */
static int read_cpu_lists(int cpu_dir, struct machine *m)
{
	_cleanup_(cpuset_done) struct cpuset present = {}, online = {};
	int r;

	r = readfile_list(cpu_dir, "online", m->n_cpus, &online);
	if (r == -ENOMEM)
		return r;
	r = readfile_list(cpu_dir, "present", m->n_cpus, &present);
	if (r == -ENOMEM)
		return r;
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
		m->cpus[cpu].present = cpuset_has(present.size ? &present : &online, cpu);
		m->cpus[cpu].online =
			m->cpus[cpu].present && (!online.size || cpuset_has(&online, cpu));
	}
	r = readfile_list(cpu_dir, "isolated", m->n_cpus, &m->isolated);
	if (r == -ENOMEM)
		return r;
	/* Reads "(null)" where nohz_full= is not used: no list, so nothing is in it. */
	r = readfile_list(cpu_dir, "nohz_full", m->n_cpus, &m->nohz_full);
	return r == -ENOMEM ? r : 0;
}

static int tell_all(struct reader *rd)
{
	int r;

	r = trouble_tell(&rd->tables, rd->diags, "cpuidle/state*",
			 "what is unknown of a state counts as over every limit");
	if (r >= 0)
		r = trouble_tell(&rd->disable, rd->diags, "cpuidle/state*/disable",
				 "the states count as switched on");
	if (r >= 0)
		r = trouble_tell(&rd->qos, rd->diags, "power/pm_qos_resume_latency_us",
				 "limits are set through the states' disable files there");
	return r;
}

static int read_all(struct reader *rd, unsigned needs)
{
	int r;

	make_paths(rd);
	r = read_cpu_lists(rd->cpu_dir, rd->m);
	if (r >= 0)
		r = facts_read(rd->root, rd->cpu_dir, rd->diags, rd->m);
	for (uint32_t cpu = 0; r >= 0 && cpu < rd->m->n_cpus; cpu++)
		if (rd->m->cpus[cpu].present)
			r = read_cpu(rd, cpu);
	if (r >= 0)
		r = topology_read(rd->root, rd->cpu_dir, needs, rd->m);
	return r < 0 ? r : tell_all(rd);
}

int sysfs_read_machine(int root_fd, unsigned needs, struct diag_list *diags, struct machine **ret)
{
	_cleanup_(machine_freep) struct machine *m = NULL;
	_cleanup_free_ struct reader *rd = calloc(1, sizeof(*rd));
	uint32_t n;
	int r;

	if (!rd)
		return -ENOMEM;
	rd->root = root_fd;
	rd->diags = diags;
	rd->cpu_dir = openat(root_fd, CPU_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rd->cpu_dir < 0)
		return -ENODEV;
	r = count_cpus(rd->cpu_dir, &n);
	if (r >= 0)
		r = machine_new(n, &m);
	if (r >= 0) {
		rd->m = m;
		r = read_all(rd, needs);
	}
	close(rd->cpu_dir);
	cpuset_done(&rd->qos.cpus);
	cpuset_done(&rd->disable.cpus);
	cpuset_done(&rd->tables.cpus);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

/* Did nothing change? ------------------------------------------------------------------------------ */

static bool same_online(int cpu_dir, const struct machine *m)
{
	_cleanup_(cpuset_done) struct cpuset online = {};

	if (readfile_list(cpu_dir, "online", m->n_cpus, &online) < 0)
		return true;
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpus[cpu].online != cpuset_has(&online, cpu))
			return false;
	return true;
}

static bool same_count(int cpu_dir, const struct machine *m)
{
	uint32_t n;

	return count_cpus(cpu_dir, &n) == 0 && n == m->n_cpus;
}

static bool same_word(int cpu_dir, const char *path, const char *word, const char *absent)
{
	char buf[MACHINE_NAME_MAX];

	if (readfile_line(cpu_dir, path, buf, sizeof(buf)) < 1)
		return streq(word, absent);
	return streq(word, buf);
}

int sysfs_same_host(int root_fd, const struct machine *m, bool *ret)
{
	int cpu_dir;

	cpu_dir = openat(root_fd, CPU_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cpu_dir < 0)
		return -errno;
	*ret = same_count(cpu_dir, m) && same_online(cpu_dir, m) &&
	       same_word(cpu_dir, "cpuidle/current_driver", m->driver, "none") &&
	       same_word(cpu_dir, "cpuidle/current_governor", m->governor, "");
	close(cpu_dir);
	return 0;
}
