#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# C0.1 and C0.2, by the instructions themselves. The emulator ends UMWAIT at umwait_control's limit as
# at a deadline (CF stays 0), so the limit is taken away: on silicon the wait is taken up again.
#
# guests: bochs-spr-6.12 bochs-spr2-6.1 bochs-skx-6.1 bochs-acpi-6.1 bochs-none-6.1
# more: bochs-spr-6.1 bochs-spr2-6.12 qemu-acpi-6.1
# debug: bochs-spr-debug
# needs: module kmodctl
# seconds: 900
limit=/sys/devices/system/cpu/umwait_control/max_time
[ ! -e $limit ] || echo 0 >$limit
insmod /cpuidle_policy.ko
/kmodctl c0
rmmod cpuidle_policy
