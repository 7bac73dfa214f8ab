/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "wire.h"

#define FAMILY 0x1f

/* What came in is in bounds, whatever was said. */
static void check_text(const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);

	fuzz_assert(end);
	for (const char *c = text; c < end; c++)
		fuzz_assert(*c >= ' ' && *c <= '~');
}

static void check_caps(const struct wire_message *m)
{
	struct wire_caps caps;

	if (wire_get_caps(m, &caps) < 0)
		return;
	check_text(caps.driver, sizeof(caps.driver));
	check_text(caps.reason, sizeof(caps.reason));
	check_text(caps.owner, sizeof(caps.owner));
	fuzz_assert(caps.n_states <= MACHINE_STATES_MAX);
	for (uint32_t i = 0; i < caps.n_states; i++)
		check_text(caps.states[i].name, sizeof(caps.states[i].name));
}

/* Every decoder gets every message: a kind is a claim of the sender. */
static void check_message(const struct wire_message *m, struct cpuset *cpus)
{
	struct wire_family family;
	struct wire_config config;
	struct wire_limit limit;
	struct wire_lease lease;

	check_text(m->text, sizeof(m->text));
	fuzz_assert(m->error <= 0 && m->error >= -4095);
	/* Answers have no header of a family in them; the decoders are for what has. */
	if (m->kind == WIRE_ANSWER || m->kind == WIRE_DONE)
		return;
	check_caps(m);
	(void)wire_get_family(m, &family);
	(void)wire_get_config(m, &config, cpus);
	(void)wire_get_limit(m, &limit, cpus);
	if (wire_get_lease(m, &lease) == 0)
		check_text(lease.owner, sizeof(lease.owner));
}

static void check_stream(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *bytes = malloc(size + 1);
	struct wire_in in = {.bytes = bytes, .n = size};
	struct cpuset cpus;
	struct wire_message m;

	fuzz_assert(bytes && cpuset_init(&cpus, 64) == 0);
	memcpy(bytes, data, size);
	while (wire_next(&in, FAMILY, &m)) {
		fuzz_assert(in.n < size);
		check_message(&m, &cpus);
	}
	cpuset_done(&cpus);
}

/* The first bytes as a row for a few CPUs: what goes out comes back. */
static void check_row(const uint8_t *data)
{
	struct plan_module row = {.limit_ns = LATENCY_NONE,
				  .irq_window = data[0],
				  .sti_mwait = data[1],
				  .states_off = data[2],
				  .broadcast = data[3] % 3};
	uint16_t row_of[40] = {0};
	struct module_rows none = {.n_cpus = 0};
	struct module_rows want = {
		.n_cpus = 1 + data[4] % 40, .row_of = row_of, .rows = &row, .n_rows = 1};
	struct wire_head head = {.family = FAMILY, .seq = 1};
	struct wire_out o = {.n = 0};
	struct wire_config config;
	struct cpuset cpus;
	struct wire_message m;
	struct wire_in in;

	fuzz_assert(cpuset_init(&cpus, 64) == 0);
	wire_put_config(&o, &head, &none, &want, data[5]);
	fuzz_assert(!o.failed);
	in = (struct wire_in){.bytes = o.bytes, .n = o.n};
	fuzz_assert(wire_next(&in, FAMILY, &m) && !in.n);
	fuzz_assert(wire_get_config(&m, &config, &cpus) == 0);
	/* Of repeated rules the last is seen: ours, or the one that puts all back. */
	fuzz_assert(module_row_equal(&config.row, &row));
	fuzz_assert(config.generation == data[5] && cpuset_count(&cpus) == want.n_cpus);
	cpuset_done(&cpus);
	wire_out_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 65536)
		return 0;
	check_stream(data, size);
	if (size >= 6)
		check_row(data);
	return 0;
}
