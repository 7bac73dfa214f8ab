/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stall.h"

#include "cgroup.h"
#include "readfile.h"

#define MACHINE_PATH "proc/pressure/cpu"

static void forget(struct stall *s, uint32_t i)
{
	free(s->files[i].path);
	s->files[i] = s->files[--s->n];
}

void stall_begin(struct stall *s, int root_fd, const struct policy *policy,
		 const struct machine *machine, uint64_t now)
{
	for (uint32_t i = s->n; i-- > 0;) {
		if (!s->files[i].asked)
			forget(s, i);
		else
			s->files[i].asked = false;
	}
	s->root_fd = root_fd;
	s->policy = policy;
	s->machine = machine;
	s->now = now;
}

void stall_done(struct stall *s)
{
	while (s->n > 0)
		forget(s, s->n - 1);
	*s = (struct stall){.n = 0};
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in the first line. */
static int read_total(int root_fd, const char *path, uint64_t *ret)
{
	char text[160], *total;
	int r = readfile_line(root_fd, path, text, sizeof(text));

	if (r < 0)
		return r;
	total = strstr(text, "total=");
	return total ? units_parse_u64(total + strlen("total="), 0, UINT64_MAX, ret) : -EINVAL;
}

static void look(const struct stall *s, struct stall_file *f)
{
	uint64_t us, before = f->us, at = f->at, span = s->now - at;

	f->asked = true;
	f->percent = ADAPT_PRESSURE_UNKNOWN;
	f->at = 0;
	if (read_total(s->root_fd, f->path, &us) < 0)
		return;
	f->us = us;
	f->at = s->now;
	if (at > 0 && us >= before && span >= NSEC_PER_MSEC)
		f->percent = (uint32_t)MIN_OF((us - before) * 100 / (span / NSEC_PER_USEC),
					      UINT64_C(100));
}

static struct stall_file *file_of(struct stall *s, const char *path)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (streq(s->files[i].path, path))
			return &s->files[i];
	if (s->n == STALL_FILES_MAX)
		return NULL;
	s->files[s->n] = (struct stall_file){.path = strdup(path)};
	return s->files[s->n].path ? &s->files[s->n++] : NULL;
}

/* Read once a look, however often it is asked for. *ret_there: the file could be read. */
static uint32_t percent_of(struct stall *s, const char *path, bool *ret_there)
{
	struct stall_file *f = file_of(s, path);

	*ret_there = false;
	if (!f)
		return ADAPT_PRESSURE_UNKNOWN;
	if (!f->asked)
		look(s, f);
	*ret_there = f->at > 0;
	return f->percent;
}

/* *ret_own: one of its control groups runs and has the file, which may be unknown as yet. */
static uint32_t percent_of_workload(struct stall *s, const struct workload *w, bool *ret_own)
{
	const struct cgroups *g = s->machine->cgroups;
	uint32_t most = ADAPT_PRESSURE_UNKNOWN;

	for (uint32_t i = 0; g && i < g->n; i++) {
		char path[CGROUP_PATH_MAX + 64];
		uint32_t percent;
		bool there;

		if (!g->v[i].populated || !workload_matches(w, g->v[i].path) ||
		    (size_t)snprintf(path, sizeof(path), CGROUP_ROOT "%s/cpu.pressure",
				     g->v[i].path) >= sizeof(path))
			continue;
		percent = percent_of(s, path, &there);
		*ret_own |= there;
		if (percent != ADAPT_PRESSURE_UNKNOWN)
			most = most == ADAPT_PRESSURE_UNKNOWN ? percent : MAX_OF(most, percent);
	}
	return most;
}

uint32_t stall_percent(void *data, uint32_t group)
{
	struct stall *s = data;
	const struct workload *w =
		plan_workload_of(s->policy, &(struct plan_demand){.group = group});
	bool own = false;
	uint32_t percent = w ? percent_of_workload(s, w, &own) : ADAPT_PRESSURE_UNKNOWN;

	/* The machine's instead for one look would be others' pressure, and is told as the workload's. */
	return own ? percent : percent_of(s, MACHINE_PATH, &own);
}
