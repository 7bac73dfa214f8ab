/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "soak.h"
#include "steps.h"
#include "world.h"

#define CLIENT "/usr/bin/cpuidlectl"

static bool plan_agrees(const struct model *m, char *why)
{
	struct kernel want;
	int us[CPUS];

	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		us[cpu] = -1;
	if (!world_plan(us)) {
		snprintf(why, TEXT_MAX, "the daemon does not say its plan");
		return false;
	}
	model_expect(m, &want);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		int right = m->online >> cpu & 1 ? want.limit_us[cpu] : -1;

		if (us[cpu] == right)
			continue;
		snprintf(why, TEXT_MAX, "the daemon says %d us of CPU %u, should be %d", us[cpu],
			 cpu, right);
		return false;
	}
	return true;
}

static bool run(const char *const argv[], char *said, size_t size, char *why)
{
	int r = world_run(argv, said, size);

	if (r != 0)
		snprintf(why, TEXT_MAX, "%s %s: exit status %d: %.200s", argv[0], argv[1], r, said);
	return r == 0;
}

static bool status_agrees(const struct model *m, char *why)
{
	const char *const argv[] = {CLIENT, "status", NULL};
	char said[8192];

	(void)m;
	if (!run(argv, said, sizeof(said), why))
		return false;
	snprintf(why, TEXT_MAX, "cpuidlectl status: %.200s", said);
	return strstr(said, "ACTIVE") != NULL;
}

static bool verify_agrees(const struct model *m, char *why)
{
	const char *const argv[] = {CLIENT, "verify", "-q", NULL};
	char said[8192];

	(void)m;
	return run(argv, said, sizeof(said), why);
}

/* One online CPU; its row has its limit in front of all others. */
static bool explain_agrees(const struct model *m, char *why)
{
	char said[32768], cpu[4], value[64], limit[24] = "null";
	const char *const argv[] = {CLIENT, "explain", cpu, "--json", NULL};
	struct kernel want;
	unsigned which = 0;

	while (which + 1 < CPUS && !(m->online >> (which + 1) & 1))
		which++;
	which = (which + 1) % CPUS;
	if (!(m->online >> which & 1))
		which = 0;
	model_expect(m, &want);
	/* what is less than a microsecond is zero for the kernel alone */
	if (want.limit_us[which] == 0)
		return true;
	if (want.limit_us[which] != NO_LIMIT)
		snprintf(limit, sizeof(limit), "%d000", want.limit_us[which]);
	snprintf(cpu, sizeof(cpu), "%u", which);
	snprintf(value, sizeof(value), "\"latency_limit_ns\": %s,", limit);
	if (!run(argv, said, sizeof(said), why))
		return false;
	snprintf(why, TEXT_MAX, "cpuidlectl explain %u has no %s", which, value);
	return strstr(said, value) != NULL;
}

static bool becomes(bool (*agrees)(const struct model *m, char *why), const struct model *m,
		    char *why)
{
	uint64_t until = world_now_us() + PATIENCE_MS * UINT64_C(1000);

	while (!agrees(m, why)) {
		if (world_now_us() > until)
			return false;
		usleep(2000);
	}
	return true;
}

bool soak_daemon_agrees(const struct model *m, char *why)
{
	return becomes(plan_agrees, m, why);
}

bool soak_client_agrees(const struct model *m, char *why)
{
	return becomes(status_agrees, m, why) && becomes(verify_agrees, m, why) &&
	       becomes(explain_agrees, m, why);
}
