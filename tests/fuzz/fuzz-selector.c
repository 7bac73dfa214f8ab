/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "selector.h"

#define N_CPUS 70U /* more than a word, not a whole number of them */

/* Any text as a selector and as a CPU list, on a small odd host. */
static struct machine *make_machine(void)
{
	struct machine *m = NULL;

	fuzz_assert(machine_new(N_CPUS, &m) == 0);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		struct machine_cpu *c = &m->cpus[cpu];

		c->present = cpu % 7 != 0;
		c->online = cpu % 11 != 0;
		c->package = (uint16_t)(cpu / 35);
		c->node = cpu < 60 ? (uint16_t)(cpu / 20) : MACHINE_NO_ID;
		c->core = (uint16_t)(cpu % 35);
		c->die = (uint16_t)(cpu / 18 % 2);
		c->llc = (uint16_t)(cpu / 5);
	}
	fuzz_assert(cpuset_parse(&m->isolated, "3-9") == 0);
	fuzz_assert(cpuset_parse(&m->nohz_full, "8-20:2") == 0);
	return m;
}

/* What it selects is present, and its complement is all the rest of what is. */
static void check_eval(const struct selector *s, const struct machine *m)
{
	char text[SELECTOR_TEXT_MAX + 8], error[256];
	struct selector *not = NULL;
	struct cpuset set, rest;

	fuzz_assert(selector_eval(s, m, &set) == 0);
	cpuset_for_each(cpu, &set)
		fuzz_assert(m->cpus[cpu].present);
	(void)snprintf(text, sizeof(text), "!(%s)", selector_text(s));
	if (selector_new(text, &not, error, sizeof(error)) == 0) {
		fuzz_assert(selector_eval(not, m, &rest) == 0);
		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
			fuzz_assert(m->cpus[cpu].present ==
				    (cpuset_has(&set, cpu) != cpuset_has(&rest, cpu)));
		cpuset_done(&rest);
		selector_free(not );
	}
	cpuset_done(&set);
}

/* A list that is taken is printed so that it is read again as the same set. */
static void check_list(const char *text)
{
	struct cpuset a, b;
	uint32_t max;
	char *list;

	fuzz_assert(cpuset_init(&a, N_CPUS) == 0 && cpuset_init(&b, N_CPUS) == 0);
	if (cpuset_parse(&a, text) == 0) {
		list = cpuset_to_string(&a);
		fuzz_assert(list && cpuset_parse(&b, list) == 0 && cpuset_equal(&a, &b));
		fuzz_assert(cpuset_list_max(text, &max) == 0 ? max < N_CPUS
							     : cpuset_count(&a) == 0);
		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
			fuzz_assert(cpuset_list_has(text, cpu) == cpuset_has(&a, cpu));
		free(list);
	}
	cpuset_done(&a);
	cpuset_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct selector *s = NULL;
	char text[512], error[256] = "";
	int r;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	r = selector_new(text, &s, error, sizeof(error));
	fuzz_assert(r == 0 || r == -EINVAL);
	if (r == 0) {
		struct machine *m = make_machine();

		check_eval(s, m);
		machine_free(m);
	} else {
		fuzz_assert(error[0] != '\0' && strlen(error) < sizeof(error));
	}
	selector_free(s);
	check_list(text);
	return 0;
}
