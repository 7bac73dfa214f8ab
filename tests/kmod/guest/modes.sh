#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Each mode does what it says, by the kernel's counters and the module's.
#
# guests: qemu-none-6.12 qemu-acpi-6.1 qemu-acpi-noarat-6.1 bochs-spr-6.12 bochs-skx-6.1 bochs-acpi-6.1
# more: qemu-none-6.1 qemu-acpi-noarat-6.12 qemu-acpi-6.12 bochs-spr-6.1 bochs-none-6.1
# debug: qemu-none-debug qemu-acpi-debug qemu-acpi-noarat-debug bochs-spr-debug
# needs: module kmodctl
insmod /cpuidle_policy.ko
/kmodctl modes
rmmod cpuidle_policy
