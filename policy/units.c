/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "units.h"

#include <strings.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

int units_parse_bool(const char *s, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{"yes", true}, {"no", false},  {"true", true}, {"false", false},
		{"on", true},  {"off", false}, {"1", true},    {"0", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(s, words[i].word) == 0) {
			*ret = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

/* Digits at *s, at least one; *s ends behind them. -ERANGE above max, still behind all digits. */
static int scan_u64(const char **s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	bool over = false;

	if (!is_digit(**s))
		return -EINVAL;
	for (; is_digit(**s); (*s)++) {
		uint64_t digit = (uint64_t)(**s - '0');

		over = over || digit > max || v > (max - digit) / 10;
		if (!over)
			v = v * 10 + digit;
	}
	if (over)
		return -ERANGE;
	*ret = v;
	return 0;
}

int units_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	int r = scan_u64(&s, max, &v);

	if (*s != '\0')
		return -EINVAL;
	if (r < 0)
		return r;
	if (v < min)
		return -ERANGE;
	*ret = v;
	return 0;
}

int units_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = s[0] == '-';
	uint64_t v;
	int64_t value;
	int r;

	/* INT64_MIN itself is out of reach: nothing here needs it. */
	r = units_parse_u64(s + negative, 0, INT64_MAX, &v);
	if (r < 0)
		return r;
	value = negative ? -(int64_t)v : (int64_t)v;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int units_scan_u32(const char **s, uint32_t max, uint32_t *ret)
{
	uint64_t v;
	int r;

	r = scan_u64(s, max, &v);
	if (r < 0)
		return r;
	*ret = (uint32_t)v;
	return 0;
}

/* Length of one unit in ns, 0 for an unknown one. A missing unit means us. */
static uint64_t unit_ns(const char *unit)
{
	if (streq(unit, "") || streq(unit, "us"))
		return NSEC_PER_USEC;
	if (streq(unit, "ns"))
		return 1;
	if (streq(unit, "ms"))
		return NSEC_PER_MSEC;
	if (streq(unit, "s"))
		return NSEC_PER_SEC;
	return 0;
}

/* The digits from..to as the fraction of a unit, in ns. -EINVAL below one ns. */
static int fraction_ns(const char *from, const char *to, uint64_t unit, uint64_t *ret_ns)
{
	uint64_t ns = 0;

	for (; from < to; from++) {
		unit /= 10;
		if (unit == 0 && *from != '0')
			return -EINVAL;
		ns += unit * (uint64_t)(*from - '0');
	}
	*ret_ns = ns;
	return 0;
}

static int parse_amount(const char *s, uint64_t *ret_ns)
{
	const char *fraction = NULL, *fraction_end = NULL;
	uint64_t whole = 0, part = 0, unit;
	bool over;
	int r;

	r = scan_u64(&s, LATENCY_MAX_NS, &whole);
	if (r == -EINVAL)
		return r;
	over = r == -ERANGE;
	if (*s == '.') {
		fraction = ++s;
		while (is_digit(*s))
			s++;
		if (s == fraction)
			return -EINVAL;
		fraction_end = s;
	}
	if (is_blank(*s)) {
		while (is_blank(*s))
			s++;
		if (*s == '\0')
			return -EINVAL;
	}
	unit = unit_ns(s);
	if (unit == 0)
		return -EINVAL;
	r = fraction_ns(fraction, fraction_end, unit, &part);
	if (r < 0)
		return r;
	if (over || whole > (LATENCY_MAX_NS - part) / unit)
		return -ERANGE;
	*ret_ns = whole * unit + part;
	return 0;
}

int units_parse_latency(const char *s, uint64_t *ret_ns)
{
	if (streq(s, "none") || streq(s, "infinity")) {
		*ret_ns = LATENCY_NONE;
		return 0;
	}
	if (strcasecmp(s, "n/a") == 0)
		return -ENOTSUP;
	return parse_amount(s, ret_ns);
}

/* Drops trailing zeros of the fraction *rest of one unit; returns how many digits are left. */
static int trim_fraction(uint64_t *rest, uint64_t unit)
{
	int digits = 0;

	for (; unit > 1; unit /= 10)
		digits++;
	for (; digits > 0 && *rest % 10 == 0; digits--)
		*rest /= 10;
	return digits;
}

/* ns in one unit, exactly: "1.5us". unit is a power of ten, at most ns. Returns the length. */
static int print_in_unit(char *buf, size_t size, uint64_t ns, uint64_t unit, const char *name)
{
	uint64_t rest = ns % unit;
	int digits = trim_fraction(&rest, unit);

	if (digits == 0)
		return snprintf(buf, size, "%" PRIu64 "%s", ns / unit, name);
	return snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%s", ns / unit, digits, rest, name);
}

const char *units_format_latency(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"s", NSEC_PER_SEC},
		{"ms", NSEC_PER_MSEC},
		{"us", NSEC_PER_USEC},
		{"ns", 1},
	};
	char text[LATENCY_TEXT_MAX];
	int best = INT32_MAX;

	if (ns == LATENCY_NONE || ns == 0) {
		(void)snprintf(buf, size, "%s", ns == 0 ? "0" : "none");
		return buf;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int length;

		if (units[i].ns > ns)
			continue;
		length = print_in_unit(text, sizeof(text), ns, units[i].ns, units[i].name);
		if (length < best) {
			best = length;
			(void)snprintf(buf, size, "%s", text);
		}
	}
	return buf;
}
