// SPDX-License-Identifier: GPL-2.0-only
/*
 * .owner stays NULL: with THIS_MODULE each registered device would pin the module and rmmod would
 * be refused. In exchange own_stop() waits itself until no CPU can be in own_halt().
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/idle.h>
#include <linux/stop_machine.h>
#include "arch.h"
#include "enter.h"
#include "own.h"

static __cpuidle int own_halt(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	if (!need_resched())
		arch_halt();
	return index;
}

/* Row 0 is written by the kernel's cpuidle_poll_state_init(), where it has one. */
static struct cpuidle_driver own_drv = {
	.name = "cpuidle_policy",
#ifndef CONFIG_ARCH_HAS_CPU_RELAX
	.states[0] = {
		.enter = enter_spin,
		.power_usage = -1,
		.name = "POLL",
		.desc = "CPUIDLE CORE POLL IDLE",
		.flags = CPUIDLE_FLAG_POLLING,
	},
#endif
	.states[1] = {
		.enter = own_halt,
		.exit_latency = 1,
		.target_residency = 1,
		.power_usage = -1,
		.name = ARCH_HALT_NAME,
		.desc = ARCH_HALT_DESC,
	},
	.state_count = 2,
};

static struct cpuidle_device __percpu *own_dev;
static int own_cpuhp;

void own_init(void)
{
	cpuidle_poll_state_init(&own_drv);
	own_drv.states[1].exit_latency_ns = NSEC_PER_USEC;
	own_drv.states[1].target_residency_ns = NSEC_PER_USEC;
}

struct cpuidle_driver *own_driver(void)
{
	return &own_drv;
}

bool own_running(void)
{
	return own_dev;
}

struct cpuidle_device *own_device(unsigned int cpu)
{
	return per_cpu_ptr(own_dev, cpu);
}

static int own_online(unsigned int cpu)
{
	struct cpuidle_device *dev = per_cpu_ptr(own_dev, cpu);

	dev->cpu = cpu;
	return cpuidle_register_device(dev);
}

static int own_offline(unsigned int cpu)
{
	cpuidle_unregister_device(per_cpu_ptr(own_dev, cpu));
	return 0;
}

static int own_nothing(void *unused)
{
	return 0;
}

static void own_unregister(void)
{
	cpuidle_unregister_driver(&own_drv);
	stop_machine(own_nothing, NULL, NULL);
	free_percpu(own_dev);
	own_dev = NULL;
}

int own_start(const char **why)
{
	int ret;

	if (own_dev)
		return 0;
	own_dev = alloc_percpu(struct cpuidle_device);
	if (!own_dev) {
		*why = "out of memory";
		return -ENOMEM;
	}
	ret = cpuidle_register_driver(&own_drv);
	if (ret) {
		free_percpu(own_dev);
		own_dev = NULL;
		*why = ret == -EBUSY ? "the kernel has a cpuidle driver of its own" :
				       "cpuidle is switched off in this kernel";
		return ret;
	}
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "cpuidle/policy:own", own_online,
				own_offline);
	if (ret < 0) {
		own_unregister();
		*why = "the CPUs' idle devices cannot be registered";
		return ret;
	}
	own_cpuhp = ret;
	return 0;
}

void own_stop(void)
{
	if (!own_dev)
		return;
	cpuhp_remove_state(own_cpuhp);
	own_unregister();
}
