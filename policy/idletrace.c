/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "idletrace.h"

#include "cpuset.h"

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* Digits behind a point, as so many decimals; -EINVAL for more of them. */
static int scan_decimals(const char **s, unsigned decimals, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned n = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++, n++) {
		if (n == decimals)
			return -EINVAL;
		value = value * 10 + (uint64_t)(**s - '0');
	}
	if (n == 0)
		return -EINVAL;
	for (; n < decimals; n++)
		value *= 10;
	*ret = value;
	return 0;
}

/* "1250.5" with a unit of so many ns; the decimals say how fine the unit can be told. */
static int scan_time(const char **s, uint64_t unit_ns, unsigned decimals, uint64_t *ret)
{
	uint64_t whole = 0, part = 0;
	const char *p = *s;
	int r;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (whole > UINT64_MAX / unit_ns / 100)
			return -ERANGE;
		whole = whole * 10 + (uint64_t)(*p - '0');
	}
	if (*p == '.') {
		p++;
		r = scan_decimals(&p, decimals, &part);
		if (r < 0)
			return r;
	}
	*ret = whole * unit_ns + part;
	*s = p;
	return 0;
}

static int scan_period(const char *s, struct idle_period *ret, const char **why)
{
	struct idle_period p = {.timer_ns = IDLETRACE_NO_TIMER};
	uint32_t cpu;

	*why = "begins with no CPU number; a line is CPU AT IDLE [TIMER]";
	if (units_scan_u32(&s, CPU_MAX - 1, &cpu) < 0)
		return -EINVAL;
	p.cpu = (uint16_t)cpu;
	s = skip_blanks(s);
	*why = "has no time in the second place; microseconds such as 1250.5 are right";
	if (scan_time(&s, NSEC_PER_USEC, 3, &p.at_ns) < 0)
		return -EINVAL;
	s = skip_blanks(s);
	*why = "has no idle time in the third place; microseconds such as 87.25 are right";
	if (scan_time(&s, NSEC_PER_USEC, 3, &p.idle_ns) < 0)
		return -EINVAL;
	s = skip_blanks(s);
	*why = "has no time to the next timer in the fourth place; microseconds, or - if nobody knows";
	if (*s == '-')
		s++;
	else if (*s != '\0' && *s != '#' && scan_time(&s, NSEC_PER_USEC, 3, &p.timer_ns) < 0)
		return -EINVAL;
	s = skip_blanks(s);
	*why = "goes on behind the fourth place; a line is CPU AT IDLE [TIMER]";
	if (*s != '\0' && *s != '#')
		return -EINVAL;
	*ret = p;
	return 0;
}

static int append(struct idletrace *t, const struct idle_period *p)
{
	if (t->n == t->cap) {
		uint32_t cap = t->cap * 2 + 1024;
		struct idle_period *v = reallocarray(t->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = *p;
	t->n_cpus = MAX_OF(t->n_cpus, p->cpu + 1U);
	t->end_ns = MAX_OF(t->end_ns, p->at_ns + p->idle_ns);
	return 0;
}

/* What stands behind a word at the beginning of a line; NULL: another line. */
static const char *behind(const char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t')
		       ? skip_blanks(line + n)
		       : NULL;
}

static int set_repeat(struct idletrace *t, const char *s, const char **why)
{
	uint32_t n;

	*why = "repeats it no number of times; 1 to 10000 is right";
	if (units_scan_u32(&s, IDLETRACE_REPEAT_MAX, &n) < 0 || n == 0)
		return -EINVAL;
	s = skip_blanks(s);
	if (*s != '\0' && *s != '#')
		return -EINVAL;
	t->repeat = n;
	return 0;
}

static int set_profile(struct idletrace *t, const char *s, const char **why)
{
	size_t n = strcspn(s, " \t#");
	char end;

	*why = "names no profile; one word of up to 63 characters is right";
	end = *skip_blanks(s + n);
	if (n == 0 || n >= sizeof(t->profile) || (end != '\0' && end != '#'))
		return -EINVAL;
	memcpy(t->profile, s, n);
	t->profile[n] = '\0';
	return 0;
}

/* 1: the line is a period, or ought to be one. */
static int take_head(struct idletrace *t, const char *line, const char **why)
{
	const char *repeat = behind(line, "repeat"), *profile = behind(line, "profile");

	if (!repeat && !profile)
		return 1;
	*why = "stands behind the first period; it belongs before it";
	if (t->n > 0)
		return -EINVAL;
	return repeat ? set_repeat(t, repeat, why) : set_profile(t, profile, why);
}

int idletrace_add(struct idletrace *t, const char *line, const char **why)
{
	struct idle_period p;
	int r;

	line = skip_blanks(line);
	if (*line == '\0' || *line == '#')
		return 0;
	r = take_head(t, line, why);
	if (r <= 0)
		return r;
	r = scan_period(line, &p, why);
	if (r < 0)
		return r;
	*why = "is about more than 30 days; split the trace";
	if (p.at_ns > IDLETRACE_MAX_NS || p.idle_ns > IDLETRACE_MAX_NS)
		return -ERANGE;
	*why = "begins before the period of the line before; periods stand in the order of their beginning";
	if (t->n > 0 && p.at_ns < t->v[t->n - 1].at_ns)
		return -ERANGE;
	return t->n == IDLETRACE_PERIODS_MAX ? -E2BIG : append(t, &p);
}

void idletrace_done(struct idletrace *t)
{
	free(t->v);
	*t = (struct idletrace){.n = 0};
}

/* perf ------------------------------------------------------------------------------------------------ */

/* The number behind a word of the line. */
static int scan_word(const char *line, const char *word, uint32_t *ret)
{
	const char *s = strstr(line, word);

	if (!s)
		return -EINVAL;
	s += strlen(word);
	return units_scan_u32(&s, UINT32_MAX, ret);
}

/* The time: what stands between the last blank and the colon in front of the event. */
static int scan_stamp(const char *line, const char *event, uint64_t *ret)
{
	const char *end = event;
	int r;

	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end == line || end[-1] != ':')
		return -EINVAL;
	for (end--; end > line && end[-1] != ' ' && end[-1] != '\t'; end--)
		;
	r = scan_time(&end, NSEC_PER_SEC, 9, ret);
	return r < 0 || *end != ':' ? -EINVAL : 0;
}

int idletrace_perf_line(struct idletrace_perf *p, const char *line, struct idle_period *ret)
{
	const char *event = strstr(line, "power:cpu_idle:");
	uint64_t ns, since;
	uint32_t state, cpu;

	if (!event)
		return 0;
	if (scan_stamp(line, event, &ns) < 0 || scan_word(event, "state=", &state) < 0 ||
	    scan_word(event, "cpu_id=", &cpu) < 0 || cpu >= CPU_MAX)
		return -EINVAL;
	if (!p->since)
		p->since = calloc(CPU_MAX, sizeof(*p->since));
	if (!p->since)
		return -ENOMEM;
	if (!p->begun)
		p->first_ns = ns;
	p->begun = true;
	ns = ns > p->first_ns ? ns - p->first_ns : 0;
	since = p->since[cpu];
	p->since[cpu] = state == UINT32_MAX ? 0 : ns + 1;
	if (state != UINT32_MAX || since == 0 || ns + 1 < since)
		return 0;
	*ret = (struct idle_period){
		.cpu = (uint16_t)cpu,
		.at_ns = since - 1,
		.idle_ns = ns + 1 - since,
		.timer_ns = IDLETRACE_NO_TIMER,
	};
	return 1;
}

void idletrace_perf_done(struct idletrace_perf *p)
{
	free(p->since);
	*p = (struct idletrace_perf){.begun = false};
}

static char *put_us(char *s, size_t size, uint64_t ns)
{
	int n = snprintf(s, size, " %" PRIu64 ".%03u", ns / NSEC_PER_USEC,
			 (unsigned)(ns % NSEC_PER_USEC));

	return s + n;
}

const char *idletrace_format(const struct idle_period *p, char *buf)
{
	char *s = buf, *end = buf + IDLETRACE_LINE_MAX;

	s += snprintf(s, IDLETRACE_LINE_MAX, "%u", p->cpu);
	s = put_us(s, (size_t)(end - s), p->at_ns);
	s = put_us(s, (size_t)(end - s), p->idle_ns);
	if (p->timer_ns == IDLETRACE_NO_TIMER)
		snprintf(s, (size_t)(end - s), " -");
	else
		put_us(s, (size_t)(end - s), p->timer_ns);
	return buf;
}
