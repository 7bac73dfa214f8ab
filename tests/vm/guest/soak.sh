#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Random steps: holds, kills, reloads, CPUs and control groups that come and go, others' writes, the daemon and the
# module too. After each one every CPU's limit is what a model of the test's own says; see tests/soak/soak.c.
# SOAK_STEPS and SOAK_SEED on the kernel's command line, else 500 and 1.
#
# guests: qemu-soak-6.12
# needs: module daemon soak
cpu=/sys/devices/system/cpu
states=$(cat $cpu/cpu3/cpuidle/state*/name | tr '\n' ' ')
if [ "$states" != "POLL C1 C2 " ]; then
	echo "not ok - the guest has four CPUs with POLL, C1 and C2: CPU 3 has '$states'"
	exit 1
fi
/soak "${SOAK_STEPS:-500}" "${SOAK_SEED:-1}"
