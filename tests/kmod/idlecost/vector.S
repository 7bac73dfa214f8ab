/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in the IDT before the kernel's entry for the local timer: notes when the interrupt came,
 * and goes on there with everything as it was.
 */
#include <linux/linkage.h>
#include <asm/nospec-branch.h>

	.text
	.globl vector_entry
vector_entry:
	endbr64
	pushq	%rax
	pushq	%rdx
	jmp	1f			/* see round_tsc() */
1:	rdtsc
	movl	%eax, vector_tsc(%rip)
	movl	%edx, vector_tsc+4(%rip)
	popq	%rdx
	popq	%rax
	ANNOTATE_RETPOLINE_SAFE
	jmp	*vector_next(%rip)
	int3
