; SPDX-License-Identifier: GPL-2.0-or-later
;
; What the set-up code jumps to (hdr.code32_start = 0x100000): 32 bits, flat segments, paging off,
; ESI = boot_params. Maps 4 GiB one to one with 2 MiB pages, enters long mode and jumps to the
; kernel's ELF entry. It stands in for the kernel's own decompressor, which would take most of the
; boot under emulation, and which turns on 5-level paging that Bochs' SMM code cannot save.
	bits 32
	org 0x100000
%define TABLES 0x110000		; between this stub and the kernel at 16 MiB
%define MEMORY_TOP 0x8000000	; bzimage.py keeps the initial RAM disk below it
start:
	cli
	lgdt [gdtr]
	; Bochs lays a RAM image down as one run of host memory, but gives blocks of 8 MiB to the
	; guest in the order of their first use: use them in ascending order.
	mov ebx, 0x1000000
.touch:
	mov al, [ebx]
	add ebx, 0x800000
	cmp ebx, MEMORY_TOP
	jb .touch
	mov edi, TABLES
	xor eax, eax
	mov ecx, 6*1024
	cld
	rep stosd
	mov dword [TABLES], TABLES+0x1003
	mov dword [TABLES+0x1000], TABLES+0x2003
	mov dword [TABLES+0x1008], TABLES+0x3003
	mov dword [TABLES+0x1010], TABLES+0x4003
	mov dword [TABLES+0x1018], TABLES+0x5003
	mov edi, TABLES+0x2000
	mov eax, 0x83		; present, writable, large
	mov ecx, 2048
.map:
	mov [edi], eax
	mov dword [edi+4], 0
	add edi, 8
	add eax, 0x200000
	loop .map
	mov eax, cr4
	or eax, 0x20		; PAE
	mov cr4, eax
	mov eax, TABLES
	mov cr3, eax
	mov ecx, 0xc0000080	; EFER.LME
	rdmsr
	or eax, 0x100
	wrmsr
	mov eax, cr0
	or eax, 0x80000001	; PG, PE
	mov cr0, eax
	jmp 0x10:long_mode
	bits 64
long_mode:
	mov ax, 0x18
	mov ds, ax
	mov es, ax
	mov ss, ax
	mov fs, ax
	mov gs, ax
	mov esi, esi		; clears the upper half
	mov rax, 0x1000000	; bzimage.py puts the kernel's entry here
	jmp rax
	align 16
gdt:
	dq 0, 0
	dq 0x00af9a000000ffff
	dq 0x00cf92000000ffff
gdtr:
	dw 31
	dd gdt
