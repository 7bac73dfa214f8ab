#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# 500 times attached and detached, while two more processes fight for the lease and are killed, a
# CPU comes and goes, governors change, and both CPUs have work.
#
# guests: qemu-acpi-6.1 qemu-acpi-6.12
# more: qemu-none-6.1
# debug: qemu-acpi-debug qemu-none-debug
# needs: module kmodctl
# seconds: 1800
cpu=/sys/devices/system/cpu
echo 0 >$cpu/cpu1/online
echo 1 >$cpu/cpu1/online
insmod /cpuidle_policy.ko
(while :; do
	echo 0 >$cpu/cpu1/online
	usleep 50000
	echo 1 >$cpu/cpu1/online
	usleep 150000
done) &
(while :; do
	for g in $(cat $cpu/cpuidle/available_governors); do
		echo $g >$cpu/cpuidle/current_governor 2>/dev/null
		usleep 70000
	done
done) &
(while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=500 2>/dev/null
	usleep 3000
done) &
governor=$(cat $cpu/cpuidle/current_governor)
/kmodctl stress 1 "${STRESS_COUNT:-500}"
echo $governor >$cpu/cpuidle/current_governor
rmmod cpuidle_policy || echo "not ok - rmmod"
