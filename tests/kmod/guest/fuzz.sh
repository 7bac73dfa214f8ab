#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Random and mutated messages from root. FUZZ_SEED and FUZZ_COUNT come from the kernel's command
# line; what the kernel does not know, init inherits.
#
# guests: qemu-acpi-6.1
# more: qemu-none-6.12
# debug: qemu-acpi-debug qemu-none-debug
# needs: module kmodctl
# seconds: 1800
insmod /cpuidle_policy.ko
/kmodctl fuzz "${FUZZ_SEED:-1}" "${FUZZ_COUNT:-1000000}"
rmmod cpuidle_policy || echo "not ok - rmmod"
