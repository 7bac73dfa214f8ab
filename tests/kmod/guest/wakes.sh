#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# 10^5 wake-ups by the store of another CPU that end UMWAIT, in both depths and as both, POLL's backend and
# a state: none is lost. Then with a module that arms its monitor too late: some must be.
#
# guests: bochs-spr2-6.1
# more: bochs-spr2-6.12
# needs: module module3 kmodctl
# seconds: 1200
echo 0 >/sys/devices/system/cpu/umwait_control/max_time
insmod /cpuidle_policy.ko
for rows in "poll=2 off=14" "poll=1 off=14" "row=2 off=15" "row=1 off=15"; do
	/kmodctl wakes 25000 "cpus=0-1 count=1 $rows" | sed "s/$/ ($rows)/"
done | grep '^\(not \)*ok' | tee /tmp/tap
rmmod cpuidle_policy
insmod /cpuidle_policy3.ko
/kmodctl wakes 10000 "cpus=0-1 count=1 poll=2 off=14" >/tmp/lossy
if grep -q '^not ok.* of them late' /tmp/lossy; then
	echo "ok - the faulty module is caught: $(grep -o '[0-9]* wake-ups.*' /tmp/lossy)"
else
	echo "not ok - the faulty module is caught"
	sed 's/^/# /' /tmp/lossy
fi
echo "1..$(($(grep -c ok /tmp/tap) + 1))"
