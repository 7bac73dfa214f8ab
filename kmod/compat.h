/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat - what differs between the kernels we build on (6.1 and later), and nothing else
 *
 * Feature tests where a feature can be tested, versions where only behaviour changed.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/irqflags.h>
#include <linux/version.h>

/*
 * Before 6.3 __cpuidle is a bare section and lockdep takes interrupts for off inside ->enter; an
 * interrupt taken there may leave it thinking they are on, so closing them again must be traced.
 * Since 6.3 it is a noinstr section, and lockdep takes them for on: closing must not be traced.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#undef __cpuidle
#define __cpuidle                                                                                  \
	noinline notrace __section(".cpuidle.text") __no_kcsan __no_sanitize_address               \
		__no_sanitize_coverage
#define COMPAT_TRACED_OFF IS_ENABLED(CONFIG_TRACE_IRQFLAGS)
#else
#define COMPAT_TRACED_OFF 0
#endif

/* The name changed when the TSA fixes came, in point releases too: Kbuild looks. */
#ifdef COMPAT_MDS_IDLE
#define x86_idle_clear_cpu_buffers mds_idle_clear_cpu_buffers
#endif

/* nla_policy.range became const in 6.7. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define COMPAT_RANGE static
#else
#define COMPAT_RANGE static const
#endif

/* Looking for a hypervisor by CPUID has a header and a name of its own since 6.16. */
#ifdef CONFIG_X86_64
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define cpuid_base_hypervisor hypervisor_cpuid_base
#else
#include <asm/cpuid/api.h>
#endif
#endif

#endif /* COMPAT_H */
