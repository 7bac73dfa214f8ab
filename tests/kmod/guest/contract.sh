#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The contract, attribute by attribute, on every kind of machine. Then the module goes, and the
# driver's table must be what it was.
#
# guests: qemu-none-6.1 qemu-acpi-6.12 bochs-spr-6.1 bochs-skx-6.1
# more: qemu-acpi-6.1 qemu-none-6.12 bochs-spr-6.12 qemu-arm-none-6.12
# debug: qemu-none-debug qemu-acpi-debug bochs-spr-debug
# needs: module kmodctl
/kmodctl snapshot >/tmp/before
insmod /cpuidle_policy.ko
/kmodctl contract | sed '/^1\.\./d' | tee /tmp/tap
count=$(grep -c '^\(not \)\?ok' /tmp/tap)
rmmod cpuidle_policy
/kmodctl snapshot >/tmp/after
if cmp -s /tmp/before /tmp/after; then
	echo "ok $((count + 1)) - after rmmod the kernel's memory is as before"
else
	echo "not ok $((count + 1)) - after rmmod the kernel's memory differs"
	diff /tmp/before /tmp/after | sed 's/^/# /'
fi
echo "1..$((count + 1))"
