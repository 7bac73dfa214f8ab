// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three steps. Every idle device is disabled, so that its stateN are taken from sysfs with the
 * count they were made with. With all CPUs stopped, and so outside of ->enter and of the counting
 * behind it, the table is edited. The devices are enabled again, which brings stateN for the new
 * count and starts the governor's data anew; counters stay, moved along with their states. While
 * disabled, a CPU idles in the kernel's default way.
 *
 * cpuidle's lock cannot be held over the middle step (see hook.c), so that step looks whether
 * somebody has enabled a device meanwhile, as a switch of governors does, and then leaves all as
 * it was.
 *
 * Only for drivers whose callbacks know a state by the live table alone. acpi_idle has arrays of
 * its own by index, and writes flags by index when a CPU comes online.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/delay.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include "enter.h"
#include "hook.h"
#include "insert.h"
#include "own.h"
#include "unveto.h"

#define INSERT_LATENCY_NS 200 /* to wake from C0.2, and what it takes to be worth it */
#define INSERT_TRIES	  5

static int insert_index = -1;
static struct cpumask insert_disabled; /* devices we have disabled; too large for a stack */

struct insert_edit {
	struct cpuidle_driver *drv;
	const struct table_caps *caps;
	const union table_row *rows;
	bool deep;
};

int insert_at(void)
{
	return insert_index;
}

const char *insert_refusal(const struct cpuidle_driver *drv)
{
	if (strcmp(drv->name, "intel_idle") && drv != own_driver())
		return "this driver knows its states by their place in the table";
	if (!(drv->states[0].flags & CPUIDLE_FLAG_POLLING))
		return "the driver has no polling state in front";
	if (insert_index < 0 && drv->state_count >= TABLE_STATES)
		return "the driver's table is full";
	return NULL;
}

/* The idle device of a CPU, or NULL. intel_idle's live as long as the kernel does. */
static struct cpuidle_device *insert_device(unsigned int cpu)
{
	if (own_running())
		return own_device(cpu);
	return READ_ONCE(per_cpu(enter_cpu, cpu).dev);
}

/* A device we do not know would keep stateN for another count than there are states. */
static const char *insert_unknown(void)
{
	unsigned int cpu;

	if (own_running())
		return NULL;
	for_each_present_cpu(cpu)
		if (!insert_device(cpu))
			return cpu_online(cpu) ? "a CPU was never idle meanwhile, try again" :
						 "a CPU that is offline has not been idle since";
	return NULL;
}

/* ---- with all CPUs stopped ---- */

static bool insert_enabled(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct cpuidle_device *dev = insert_device(cpu);

		if (dev && dev->registered && dev->enabled)
			return true;
	}
	return insert_unknown();
}

static void insert_shift_up(struct cpuidle_state_usage *usage, int at, int n)
{
	memmove(&usage[at + 1], &usage[at], (n - at) * sizeof(*usage));
	memset(&usage[at], 0, sizeof(*usage));
	usage[at].disable = ENTER_DISABLE;
}

static void insert_shift_down(struct cpuidle_state_usage *usage, int at, int n)
{
	memmove(&usage[at], &usage[at + 1], (n - at - 1) * sizeof(*usage));
	memset(&usage[n - 1], 0, sizeof(*usage));
}

static void insert_cpu(const struct insert_edit *edit, unsigned int cpu, int at, bool in)
{
	struct enter_cpu *e = &per_cpu(enter_cpu, cpu);
	struct cpuidle_device *dev = insert_device(cpu);
	int n = edit->drv->state_count;

	e->row = table_row_live(edit->caps, edit->rows[cpu], in ? at : -1);
	if (in) {
		memmove(&e->entries[at + 1], &e->entries[at],
			(TABLE_STATES - at - 1) * sizeof(*e->entries));
		e->entries[at] = 0;
		e->vetoed = table_set_live(e->vetoed, at);
	} else {
		e->exits -= e->entries[at]; /* they still pair: enter_inside() */
		memmove(&e->entries[at], &e->entries[at + 1],
			(TABLE_STATES - at - 1) * sizeof(*e->entries));
		e->entries[TABLE_STATES - 1] = 0;
		e->vetoed = table_set_plain(e->vetoed & ~BIT(at), at);
	}
	if (!dev || !dev->registered)
		return;
	if (in) {
		insert_shift_up(dev->states_usage, at, n);
		e->vetoed |= BIT(at);
	} else {
		insert_shift_down(dev->states_usage, at, n);
	}
	dev->last_state_idx = 0;
	dev->poll_limit_ns = 0;
}

static void insert_names(struct cpuidle_state *state, bool deep)
{
	strscpy(state->name, deep ? "C0.2" : "C0.1", sizeof(state->name));
	strscpy(state->desc, deep ? "UMWAIT C0.2" : "UMWAIT C0.1", sizeof(state->desc));
}

static int insert_edit_in(void *data)
{
	struct insert_edit *edit = data;
	struct cpuidle_driver *drv = edit->drv;
	const int at = 1;
	unsigned int cpu;
	int i;

	if (insert_enabled())
		return -EAGAIN;
	for_each_possible_cpu(cpu)
		insert_cpu(edit, cpu, at, true);
	for (i = drv->state_count; i > at; i--) {
		drv->states[i] = drv->states[i - 1];
		drv->states[i].enter = enter_table[i];
		enter_lower[i] = enter_lower[i - 1];
	}
	drv->states[at] = (struct cpuidle_state){
		.enter = enter_table[at],
		.exit_latency_ns = INSERT_LATENCY_NS,
		.target_residency_ns = INSERT_LATENCY_NS,
		.power_usage = -1,
	};
	insert_names(&drv->states[at], edit->deep);
	enter_lower[at] = enter_c0;
	if (drv->safe_state_index >= at)
		drv->safe_state_index++;
	drv->state_count++;
	insert_index = at;
	return 0;
}

static int insert_edit_out(void *data)
{
	struct insert_edit *edit = data;
	struct cpuidle_driver *drv = edit->drv;
	const int at = insert_index;
	unsigned int cpu;
	int i;

	if (insert_enabled())
		return -EAGAIN;
	for_each_possible_cpu(cpu)
		insert_cpu(edit, cpu, at, false);
	drv->state_count--;
	for (i = at; i < drv->state_count; i++) {
		drv->states[i] = drv->states[i + 1];
		drv->states[i].enter = enter_table[i];
		enter_lower[i] = enter_lower[i + 1];
	}
	memset(&drv->states[i], 0, sizeof(drv->states[i]));
	if (drv->safe_state_index > at)
		drv->safe_state_index--;
	insert_index = -1;
	return 0;
}

/* ---- around it ---- */

static void insert_disable(void)
{
	unsigned int cpu;

	cpuidle_pause_and_lock();
	for_each_possible_cpu(cpu) {
		struct cpuidle_device *dev = insert_device(cpu);

		if (!dev || !dev->registered || !dev->enabled)
			continue;
		cpuidle_disable_device(dev);
		cpumask_set_cpu(cpu, &insert_disabled);
	}
	cpuidle_resume_and_unlock();
}

/* A device that cannot be enabled leaves its CPU to the kernel's default idle, until a retry. */
static void insert_enable(void)
{
	unsigned int cpu;

	cpuidle_pause_and_lock();
	for_each_cpu(cpu, &insert_disabled) {
		struct cpuidle_device *dev = insert_device(cpu);

		if (!dev || !dev->registered || !cpuidle_enable_device(dev))
			cpumask_clear_cpu(cpu, &insert_disabled);
	}
	cpuidle_resume_and_unlock();
	if (!cpumask_empty(&insert_disabled))
		pr_warn("%u CPUs are without cpuidle for lack of memory\n",
			cpumask_weight(&insert_disabled));
}

void insert_retry(void)
{
	if (!cpumask_empty(&insert_disabled))
		insert_enable();
}

static int insert_edit(int (*edit_fn)(void *), struct insert_edit *edit)
{
	int n, ret = -EAGAIN;

	for (n = 0; n < INSERT_TRIES && ret == -EAGAIN; n++) {
		insert_disable();
		ret = stop_machine(edit_fn, edit, NULL);
		insert_enable();
	}
	return ret;
}

int insert_add(const struct table_caps *caps, const union table_row *rows, bool deep,
	       const char **why)
{
	struct insert_edit edit = {
		.drv = hook_driver(), .caps = caps, .rows = rows, .deep = deep
	};
	int ret;

	if (insert_index >= 0)
		return 0;
	*why = insert_refusal(edit.drv);
	if (*why)
		return -EOPNOTSUPP;
	if (!own_running())
		unveto_meet();
	*why = insert_unknown();
	if (*why)
		return -EAGAIN;
	ret = insert_edit(insert_edit_in, &edit);
	if (ret)
		*why = "somebody else works on the CPUs' idle devices, try again";
	else
		pr_info("%s has one state more\n", edit.drv->name);
	return ret;
}

int insert_remove(const struct table_caps *caps, const union table_row *rows)
{
	struct insert_edit edit = { .drv = hook_driver(), .caps = caps, .rows = rows };
	int ret;

	if (insert_index < 0)
		return 0;
	ret = insert_edit(insert_edit_out, &edit);
	if (!ret)
		pr_info("%s has its own states again\n", edit.drv->name);
	return ret;
}

void insert_name(bool deep)
{
	if (insert_index >= 0)
		insert_names(&hook_driver()->states[insert_index], deep);
}
