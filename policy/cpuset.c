/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpuset.h"
#include "units.h"

static uint32_t words_of(uint32_t size)
{
	return (size + 63) / 64;
}

/* Bits from..to (inclusive, from <= to < 64) of a word. */
static uint64_t mask_of(uint32_t from, uint32_t to)
{
	return (UINT64_MAX >> (63 - to)) & (UINT64_MAX << from);
}

/* Members of the last word that exist; everything for a full one. */
static uint64_t tail_mask(const struct cpuset *set)
{
	return set->size % 64 == 0 ? UINT64_MAX : mask_of(0, set->size % 64 - 1);
}

int cpuset_init(struct cpuset *set, uint32_t size)
{
	uint64_t *words;

	if (size > CPU_MAX)
		return -ERANGE;
	words = calloc(MAX_OF(words_of(size), 1U), sizeof(*words));
	if (!words)
		return -ENOMEM;
	*set = (struct cpuset){.size = size, .words = words};
	return 0;
}

void cpuset_done(struct cpuset *set)
{
	free(set->words);
	*set = (struct cpuset){0};
}

int cpuset_copy(struct cpuset *dst, const struct cpuset *src)
{
	int r;

	r = cpuset_init(dst, src->size);
	if (r < 0)
		return r;
	cpuset_or(dst, src);
	return 0;
}

bool cpuset_has(const struct cpuset *set, uint32_t cpu)
{
	return cpu < set->size && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

void cpuset_add(struct cpuset *set, uint32_t cpu)
{
	if (cpu < set->size)
		set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

void cpuset_del(struct cpuset *set, uint32_t cpu)
{
	if (cpu < set->size)
		set->words[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

void cpuset_clear(struct cpuset *set)
{
	if (set->size > 0)
		memset(set->words, 0, words_of(set->size) * sizeof(*set->words));
}

void cpuset_fill(struct cpuset *set)
{
	if (set->size == 0)
		return;
	memset(set->words, 0xff, words_of(set->size) * sizeof(*set->words));
	set->words[words_of(set->size) - 1] &= tail_mask(set);
}

uint32_t cpuset_count(const struct cpuset *set)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < words_of(set->size); i++)
		n += (uint32_t)__builtin_popcountll(set->words[i]);
	return n;
}

static uint64_t word_at(const struct cpuset *set, uint32_t i)
{
	return i < words_of(set->size) ? set->words[i] : 0;
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
	uint32_t n = words_of(MAX_OF(a->size, b->size));

	for (uint32_t i = 0; i < n; i++) {
		if (word_at(a, i) != word_at(b, i))
			return false;
	}
	return true;
}

void cpuset_and(struct cpuset *dst, const struct cpuset *src)
{
	for (uint32_t i = 0; i < words_of(dst->size); i++)
		dst->words[i] &= word_at(src, i);
}

void cpuset_or(struct cpuset *dst, const struct cpuset *src)
{
	uint32_t n = words_of(dst->size);

	for (uint32_t i = 0; i < n; i++)
		dst->words[i] |= word_at(src, i);
	if (n > 0)
		dst->words[n - 1] &= tail_mask(dst);
}

void cpuset_not(struct cpuset *set)
{
	uint32_t n = words_of(set->size);

	for (uint32_t i = 0; i < n; i++)
		set->words[i] = ~set->words[i];
	if (n > 0)
		set->words[n - 1] &= tail_mask(set);
}

/* First number >= from whose membership is `member`, UINT32_MAX beyond the last word. */
static uint32_t find_next(const struct cpuset *set, uint32_t from, bool member)
{
	uint64_t flip = member ? 0 : UINT64_MAX;
	uint64_t keep = UINT64_MAX << (from % 64);

	for (uint32_t i = from / 64; i < words_of(set->size); i++) {
		uint64_t word = (set->words[i] ^ flip) & keep;

		if (word)
			return i * 64 + (uint32_t)__builtin_ctzll(word);
		keep = UINT64_MAX;
	}
	return UINT32_MAX;
}

uint32_t cpuset_next(const struct cpuset *set, uint32_t from)
{
	return find_next(set, from, true);
}

/* One item of a list: from-to, and of each group the first used numbers. */
struct range {
	uint32_t from, to, used, group;
};

/* "from", "from-to", "from-to:group" or "from-to:used/group"; *s ends behind it. */
static int scan_range(const char **s, struct range *ret)
{
	struct range range = {.used = 1, .group = 1};
	int r;

	r = units_scan_u32(s, UINT32_MAX, &range.from);
	if (r < 0)
		return r;
	range.to = range.from;
	if (**s == '-') {
		(*s)++;
		r = units_scan_u32(s, UINT32_MAX, &range.to);
		if (r < 0)
			return r;
		if (**s == ':') {
			(*s)++;
			r = units_scan_u32(s, UINT32_MAX, &range.group);
			if (r < 0)
				return r;
			if (**s == '/') {
				(*s)++;
				range.used = range.group;
				r = units_scan_u32(s, UINT32_MAX, &range.group);
				if (r < 0)
					return r;
			}
		}
	}
	if (range.from > range.to || range.used == 0 || range.used > range.group)
		return -EINVAL;
	*ret = range;
	return 0;
}

/* Adds from..to, to < size. */
static void add_span(struct cpuset *set, uint32_t from, uint32_t to)
{
	for (uint32_t i = from / 64; i <= to / 64; i++)
		set->words[i] |=
			mask_of(i == from / 64 ? from % 64 : 0, i == to / 64 ? to % 64 : 63);
}

static void add_range(struct cpuset *set, const struct range *range)
{
	uint64_t to = MIN_OF(range->to, set->size - 1);

	if (range->used == range->group) {
		if (range->from <= to)
			add_span(set, range->from, (uint32_t)to);
		return;
	}
	for (uint64_t at = range->from; at <= to; at += range->group)
		add_span(set, (uint32_t)at, (uint32_t)MIN_OF(at + range->used - 1, to));
}

/* Called with each item of a list, in order. A negative result stops. */
typedef int (*range_handler)(const struct range *range, void *userdata);

static int for_each_range(const char *list, range_handler handler, void *userdata)
{
	struct range range = {0};
	int r;

	if (*list == '\0' || streq(list, "\n"))
		return 0;
	for (;;) {
		r = scan_range(&list, &range);
		if (r < 0)
			return r;
		r = handler(&range, userdata);
		if (r < 0)
			return r;
		if (*list != ',')
			break;
		list++;
	}
	return *list == '\0' || streq(list, "\n") ? 0 : -EINVAL;
}

static int add_within(const struct range *range, void *userdata)
{
	struct cpuset *set = userdata;

	if (range->to >= set->size)
		return -ERANGE;
	add_range(set, range);
	return 0;
}

static int add_existing(const struct range *range, void *userdata)
{
	struct cpuset *set = userdata;

	if (set->size > 0)
		add_range(set, range);
	return 0;
}

static int keep_largest(const struct range *range, void *userdata)
{
	int64_t *largest = userdata;

	*largest = MAX_OF(*largest, (int64_t)range->to);
	return 0;
}

struct wanted {
	uint32_t number;
	bool found;
};

static int look_for(const struct range *range, void *userdata)
{
	struct wanted *w = userdata;

	if (w->number >= range->from && w->number <= range->to &&
	    (w->number - range->from) % range->group < range->used)
		w->found = true;
	return 0;
}

bool cpuset_list_has(const char *list, uint32_t number)
{
	struct wanted w = {.number = number};

	return for_each_range(list, look_for, &w) == 0 && w.found;
}

int cpuset_parse(struct cpuset *set, const char *list)
{
	return for_each_range(list, add_within, set);
}

int cpuset_parse_kernel(struct cpuset *set, const char *list)
{
	return for_each_range(list, add_existing, set);
}

int cpuset_list_max(const char *list, uint32_t *ret)
{
	int64_t largest = -1;
	int r;

	r = for_each_range(list, keep_largest, &largest);
	if (r < 0)
		return r;
	if (largest < 0)
		return -ENODATA;
	*ret = (uint32_t)largest;
	return 0;
}

/* Appends a number while it fits; counts its characters in any case. */
static size_t put_number(char *buf, size_t size, size_t at, uint32_t v)
{
	char digits[10];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	for (; n > 0; n--, at++) {
		if (at < size)
			buf[at] = digits[n - 1];
	}
	return at;
}

static size_t put_char(char *buf, size_t size, size_t at, char c)
{
	if (at < size)
		buf[at] = c;
	return at + 1;
}

size_t cpuset_format(const struct cpuset *set, char *buf, size_t size)
{
	size_t room = size > 0 ? size - 1 : 0;
	size_t at = 0;
	uint32_t from, end;

	for (from = cpuset_next(set, 0); from != UINT32_MAX; from = cpuset_next(set, end)) {
		end = MIN_OF(find_next(set, from, false), set->size);
		if (at > 0)
			at = put_char(buf, room, at, ',');
		at = put_number(buf, room, at, from);
		if (end - from == 1)
			continue;
		at = put_char(buf, room, at, '-');
		at = put_number(buf, room, at, end - 1);
	}
	if (size > 0)
		buf[MIN_OF(at, room)] = '\0';
	return at;
}

char *cpuset_to_string(const struct cpuset *set)
{
	size_t n = cpuset_format(set, NULL, 0);
	char *text = malloc(n + 1);

	if (text)
		(void)cpuset_format(set, text, n + 1);
	return text;
}
