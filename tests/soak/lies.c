/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Would the test see it? Each kind of thing the model knows is done, and the model is told it otherwise: it has to
 * disagree with the kernel, and to agree once it knows the truth.
 */
#include <stdio.h>
#include <string.h>

#include "soak.h"
#include "steps.h"
#include "tap.h"
#include "world.h"

#define LIE_MS 60U /* how long the kernel has the chance to become what the lie says */

/* m: the truth, which the kernel has; lie: the same but for one thing. */
static bool caught(struct model *m, struct model *lie, const char *what)
{
	char why[TEXT_MAX] = "";

	if (!soak_settles(m, PATIENCE_MS, why)) {
		tap_note("%s: %s", what, why);
		return false;
	}
	if (soak_settles(lie, LIE_MS, why)) {
		tap_note("%s: the lie is believed", what);
		return false;
	}
	return true;
}

static bool lie_of_hold(struct model *m)
{
	struct model lie;
	bool good = world_hold(0, HOLDER_OURS, 0x4, 12);

	m->holds[0] = (struct hold){.cpus = 0x4, .us = 12};
	lie = *m;
	lie.holds[0].us = 13;
	good = caught(m, &lie, "a hold's limit") && good;
	lie.holds[0] = (struct hold){.cpus = 0x8, .us = 12};
	good = caught(m, &lie, "a hold's CPU") && good;
	lie = *m; /* still held */
	good = world_release(0) && good;
	m->holds[0].cpus = 0;
	return caught(m, &lie, "the end of a hold") && good;
}

static bool lie_of_others(struct model *m)
{
	struct model lie = *m;
	bool good = world_write_qos(1, 33);

	m->foreign_us[1] = 33;
	good = caught(m, &lie, "others' limit of a CPU") && good;
	lie = *m;
	good = world_request(0, 150) && good;
	m->request_us[0] = 150;
	good = caught(m, &lie, "others' limit of all") && good;
	lie = *m;
	good = world_write_disable(3, true) && good;
	m->foreign_off[3] = true;
	good = caught(m, &lie, "others' state") && good;
	lie = *m;
	good = world_write_qos(1, NO_LIMIT) && world_request(0, NO_LIMIT) &&
	       world_write_disable(3, false) && good;
	m->foreign_us[1] = m->request_us[0] = NO_LIMIT;
	m->foreign_off[3] = false;
	return caught(m, &lie, "others' end") && good;
}

static bool lie_of_workload(struct model *m)
{
	struct model lie;
	bool good = world_call("Set", "[Profile w]\nLatencyLimit=5us\nDisableStates=C2\n"
				      "[Workload w]\nCgroup=/soak/g0\nProfile=w\n");

	m->policy.workloads[0] = (struct workload){.matches = 1, .demand = {5, true}};
	lie = *m;
	good = world_cgroup_make(0, 0xc) && good;
	m->cgroups[0] = (struct cgroup){.exists = true, .populated = true, .cpus = 0xc};
	good = caught(m, &lie, "a workload's begin") && good;
	lie = *m;
	lie.policy.workloads[0].demand.off = false;
	good = caught(m, &lie, "its state, by the module's veto") && good;
	lie = *m;
	good = world_cgroup_remove(0) && good;
	m->cgroups[0] = (struct cgroup){.exists = false};
	good = caught(m, &lie, "a workload's end") && good;
	good = world_call("ResetSettings", NULL) && good;
	m->policy.workloads[0].matches = 0;
	return good;
}

void soak_lies(struct model *m)
{
	bool good = lie_of_hold(m);

	good = lie_of_others(m) && good;
	good = lie_of_workload(m) && good;
	tap_ok(good, "a model that lies is caught, in ten ways");
}
