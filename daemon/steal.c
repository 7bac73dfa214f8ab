/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steal.h"

#include "readfile.h"
#include "units.h"

#define LINE_MAX_BYTES 256U /* ten numbers of at most 20 digits, and the name */
#define COLUMN	       8 /* user nice system idle iowait irq softirq steal */
#define TICK_NS	       (NSEC_PER_SEC / 100) /* USER_HZ */

void steal_done(struct steal *s)
{
	free(s->ns);
	*s = (struct steal){.n = 0};
}

/* "cpu12 1 2 3 ...": false for any other line. */
static bool parse_line(const char *p, uint32_t *ret_cpu, uint64_t *ret_ns)
{
	char number[24];
	uint64_t ticks;

	if (strncmp(p, "cpu", 3) != 0)
		return false;
	p += 3;
	if (units_scan_u32(&p, CPU_MAX - 1, ret_cpu) < 0)
		return false;
	for (int i = 1; i < COLUMN; i++) {
		p += strspn(p, " ");
		p += strspn(p, "0123456789");
	}
	p += strspn(p, " ");
	snprintf(number, sizeof(number), "%.*s", (int)MIN_OF(strspn(p, "0123456789"), (size_t)20),
		 p);
	if (units_parse_u64(number, 0, UINT64_MAX / TICK_NS, &ticks) < 0)
		return false;
	*ret_ns = ticks * TICK_NS;
	return true;
}

int steal_read(int root_fd, uint32_t n, struct steal *s)
{
	size_t size = ((size_t)n + 2) * LINE_MAX_BYTES;
	_cleanup_free_ char *text = malloc(size);
	uint32_t cpu;
	uint64_t ns;
	int r;

	if (s->n != n) {
		steal_done(s);
		s->ns = calloc(n, sizeof(*s->ns));
		s->n = s->ns ? n : 0;
	}
	if (!text || !s->ns)
		return -ENOMEM;
	memset(s->ns, 0xff, n * sizeof(*s->ns));
	r = readfile_at(root_fd, "proc/stat", text, size);
	if (r < 0)
		return r;
	for (const char *p = text; *p; p++) {
		if (parse_line(p, &cpu, &ns) && cpu < n)
			s->ns[cpu] = ns;
		p = strchr(p, '\n');
		if (!p)
			break;
	}
	return 0;
}

int steal_get(void *data, uint32_t cpu, uint64_t *ret_ns)
{
	const struct steal *s = data;

	if (cpu >= s->n || s->ns[cpu] == UINT64_MAX)
		return -ENODATA;
	*ret_ns = s->ns[cpu];
	return 0;
}
