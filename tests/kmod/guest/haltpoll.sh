#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guests: qemu-none-6.12 qemu-acpi-6.1
# more: qemu-none-6.1 qemu-acpi-6.12
# needs: module kmodctl
insmod /cpuidle_policy.ko
/kmodctl haltpoll
rmmod cpuidle_policy
