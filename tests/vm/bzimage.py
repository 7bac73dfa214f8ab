#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux x86 boot image (Documentation/arch/x86/boot.rst), taken apart.

bzimage.py vmlinux BZIMAGE OUT                   the unpacked ELF kernel
bzimage.py bochs BZIMAGE INITRD STUB ROM DIR CMDLINE
    DIR/setup.img and DIR/kernel.img for Bochs' RAM images, and DIR/optrom.bin with its checksum
"""
import os
import struct
import subprocess
import sys

STUB_AT = 0x100000  # where kernel.img is laid, and hdr.code32_start
SETUP_AT = 0x90000  # where setup.img is laid
CMDLINE_AT = 0x9D000
SEED_AT = 0x9E000
INITRD_AT = 0x5000000
INITRD_END = 0x8000000 - 0x200000  # MEMORY_TOP in stub.asm, less what the kernel puts at its end
# mov eax, 0x01000000 in stub.asm: the one place that names the kernel's entry
ENTRY_INSN = b"\xb8\x00\x00\x00\x01"
PT_LOAD = 1
SETUP_RNG_SEED = 9


def die(text):
    sys.exit("bzimage.py: " + text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def setup_size(image):
    return ((image[0x1F1] or 4) + 1) * 512


def vmlinux(image):
    """The ELF kernel in a bzImage; the last four bytes of its payload are the unpacked size."""
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = setup_size(image) + offset
    payload = image[start : start + length - 4]
    if payload[:6] == b"\xfd7zXZ\0":
        command = ["xz", "-dc"]
    elif payload[:4] == b"\x28\xb5\x2f\xfd":
        command = ["zstd", "-dcq"]
    elif payload[:2] == b"\x1f\x8b":
        command = ["gzip", "-dc"]
        payload = image[start : start + length]  # a gzip stream ends with that size by itself
    else:
        die("unknown compression, magic " + payload[:6].hex())
    elf = subprocess.run(command, input=payload, stdout=subprocess.PIPE, check=True).stdout
    if elf[:4] != b"\x7fELF":
        die("the payload is no ELF file")
    return elf


def loads(elf):
    """(physical address, bytes in file, bytes in memory) of each segment to load."""
    table, count = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
    for i in range(count):
        kind, _, offset, _, paddr, filesz, memsz, _ = struct.unpack_from(
            "<IIQQQQQQ", elf, table + 56 * i
        )
        if kind == PT_LOAD:
            yield paddr, elf[offset : offset + filesz], memsz


def bochs(image, initrd, stub, rom, directory, cmdline):
    """setup.img: the real-mode part with its header filled in as a boot loader would.
    kernel.img: the stub, the kernel's segments where they belong, the initial RAM disk."""
    elf = vmlinux(image)
    entry = struct.unpack_from("<Q", elf, 24)[0]
    if stub.count(ENTRY_INSN) != 1:
        die("stub: the entry's instruction is not there exactly once")
    memory = bytearray(stub.replace(ENTRY_INSN, b"\xb8" + struct.pack("<I", entry)))
    for paddr, data, _ in loads(elf):
        at = paddr - STUB_AT
        if len(memory) < at + len(data):
            memory.extend(bytes(at + len(data) - len(memory)))
        memory[at : at + len(data)] = data
    if max(paddr + size for paddr, _, size in loads(elf)) > INITRD_AT:
        die("the kernel reaches into the initial RAM disk")
    if INITRD_AT + len(initrd) > INITRD_END:
        die("the initial RAM disk is too large: %d bytes" % len(initrd))
    memory.extend(bytes(INITRD_AT - STUB_AT - len(memory)))
    memory.extend(initrd)

    setup = bytearray(image[: setup_size(image)])
    setup.extend(bytes(CMDLINE_AT - SETUP_AT - len(setup)))
    setup.extend(cmdline.encode() + b"\0")
    if len(setup) > SEED_AT - SETUP_AT:
        die("the command line is too long")
    # Bochs' RDRAND is the host's, and is switched off: no two boots would be alike. The kernel
    # gets a constant seed instead, as a boot loader may give it, so that nobody waits for one.
    setup.extend(bytes(SEED_AT - SETUP_AT - len(setup)))
    setup.extend(struct.pack("<QII", 0, SETUP_RNG_SEED, 32) + bytes(range(32)))

    def put(offset, form, value):
        struct.pack_into(form, setup, offset, value)

    put(0x1FA, "<H", 0xFFFF)  # vid_mode: normal
    put(0x210, "B", 0xFF)  # type_of_loader: undefined
    setup[0x211] |= 0x81  # loadflags: LOADED_HIGH, CAN_USE_HEAP
    put(0x214, "<I", STUB_AT)  # code32_start
    put(0x218, "<I", INITRD_AT)
    put(0x21C, "<I", len(initrd))
    put(0x224, "<H", 0xC000 - 0x200)  # heap_end_ptr
    put(0x228, "<I", CMDLINE_AT)
    put(0x250, "<Q", SEED_AT)  # setup_data
    rom = rom[:-1] + bytes([-sum(rom[:-1]) & 0xFF])
    for name, data in (("setup.img", setup), ("kernel.img", memory), ("optrom.bin", rom)):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(data)


def main(args):
    if len(args) == 3 and args[0] == "vmlinux":
        with open(args[2], "wb") as file:
            file.write(vmlinux(read(args[1])))
    elif len(args) == 7 and args[0] == "bochs":
        bochs(*(read(path) for path in args[1:5]), args[5], args[6])
    else:
        die("usage: see the head of this file")


if __name__ == "__main__":
    main(sys.argv[1:])
