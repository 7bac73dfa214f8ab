; SPDX-License-Identifier: GPL-2.0-or-later
;
; An option ROM: the BIOS calls it at the end of its own start, and it enters the Linux set-up code
; that Bochs has laid at 0x90000, with the segments and the stack that the boot protocol wants. No
; disk, no boot loader. The last byte makes the sum of all zero; bzimage.py fills it in.
	bits 16
	org 0
	db 0x55, 0xaa
	db 1			; 512 bytes
entry:
	cli
	cld
	mov ax, 0x9000
	mov ds, ax
	mov es, ax
	mov fs, ax
	mov gs, ax
	mov ss, ax
	mov sp, 0xd000
	sti
	jmp 0x9020:0
	times 511-($-$$) db 0
	db 0
