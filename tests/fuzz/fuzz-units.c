/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "units.h"

/* Any text as a latency and as numbers; eight bytes as nanoseconds the other way round. */
static void check_text(const char *text)
{
	char buf[LATENCY_TEXT_MAX];
	uint64_t ns = 0, again = 0, u = 0;
	int64_t i = 0;
	bool b;

	if (units_parse_latency(text, &ns) == 0) {
		fuzz_assert(ns <= LATENCY_MAX_NS || ns == LATENCY_NONE);
		fuzz_assert(units_parse_latency(units_format_latency(ns, buf, sizeof(buf)),
						&again) == 0);
		fuzz_assert(again == ns);
	}
	if (units_parse_u64(text, 0, UINT64_MAX, &u) == 0 && text[0] != '0') {
		(void)snprintf(buf, sizeof(buf), "%" PRIu64, u);
		fuzz_assert(streq(buf, text));
	}
	if (units_parse_i64(text, -1000, 1000, &i) == 0)
		fuzz_assert(i >= -1000 && i <= 1000);
	(void)units_parse_bool(text, &b);
}

static void check_number(uint64_t ns)
{
	char buf[LATENCY_TEXT_MAX];
	uint64_t again = 0;
	int r;

	memset(buf, 'x', sizeof(buf));
	r = units_parse_latency(units_format_latency(ns, buf, sizeof(buf)), &again);
	fuzz_assert(memchr(buf, '\0', sizeof(buf)));
	fuzz_assert(ns <= LATENCY_MAX_NS || ns == LATENCY_NONE ? r == 0 && again == ns
							       : r == -ERANGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	uint64_t ns;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_text(text);
	if (size >= sizeof(ns)) {
		memcpy(&ns, data, sizeof(ns));
		check_number(ns);
	}
	return 0;
}
