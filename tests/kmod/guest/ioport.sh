#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The state behind an I/O port, natively and directly, while the emulator notes each port that is read: see
# ioport.judge.
#
# guests: qemu-ioport-intel-6.1 qemu-ioport-amd-6.1
# needs: module kmodctl
# trace: memory_region_ops_read
insmod /cpuidle_policy.ko
/kmodctl ioport
rmmod cpuidle_policy
