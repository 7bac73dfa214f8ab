// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <asm/processor.h>
#include "compat.h"
#include "hostpoll.h"

#if IS_ENABLED(CONFIG_KVM_GUEST) && IS_ENABLED(CONFIG_ARCH_CPUIDLE_HALTPOLL)
#include <asm/cpuidle_haltpoll.h>
#include <asm/kvm_para.h>

static DEFINE_PER_CPU(bool, hostpoll_told);

/* The kernel's own haltpoll driver tells the host itself. */
bool hostpoll_possible(void)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	u32 base = cpuid_base_hypervisor("KVMKVMKVM\0\0\0", KVM_CPUID_FEATURES);

	return base && cpuid_eax(base | KVM_CPUID_FEATURES) & BIT(KVM_FEATURE_POLL_CONTROL) &&
	       !(drv && !strcmp(drv->name, "haltpoll"));
}

void hostpoll_set(unsigned int cpu, bool guest_polls)
{
	if (per_cpu(hostpoll_told, cpu) == guest_polls || !hostpoll_possible())
		return;
	per_cpu(hostpoll_told, cpu) = guest_polls;
	if (guest_polls)
		arch_haltpoll_enable(cpu);
	else
		arch_haltpoll_disable(cpu);
}
#else
bool hostpoll_possible(void)
{
	return false;
}

void hostpoll_set(unsigned int cpu, bool guest_polls)
{
}
#endif
