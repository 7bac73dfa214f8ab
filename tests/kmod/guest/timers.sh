#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# 10^5 timers that end UMWAIT, in both depths and as both, POLL's backend and a state: none is late.
#
# guests: bochs-spr-6.1
# more: bochs-spr-6.12
# needs: module kmodctl
# seconds: 1200
echo 0 >/sys/devices/system/cpu/umwait_control/max_time
insmod /cpuidle_policy.ko
for rows in "poll=2 off=14" "poll=1 off=14" "row=2 off=15" "row=1 off=15"; do
	/kmodctl timers 25000 "cpus=0 count=1 $rows" | sed "s/$/ ($rows)/"
done | grep '^\(not \)*ok' | tee /tmp/tap
echo "1..$(grep -c ok /tmp/tap)"
