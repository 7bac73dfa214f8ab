#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# On the debug kernel: is all memory given back when the module has gone, whatever was asked of it?
# An object counts as lost when nothing points to it and it is older than five seconds.
#
# debug: qemu-none-debug
# needs: module kmodctl
# append: kmemleak=on
leaks=/sys/kernel/debug/kmemleak

# what boot has lost is not ours
echo scan >$leaks
sleep 6
echo scan >$leaks
echo clear >$leaks
insmod /cpuidle_policy.ko
/kmodctl contract >/tmp/contract
/kmodctl fuzz 7 500 >/tmp/fuzz
rmmod cpuidle_policy
asked=$(grep -c '^ok' /tmp/contract)
if [ "$asked" -gt 50 ] && grep -q '^ok.*still answers' /tmp/fuzz; then
	echo "ok 1 - much was asked of it"
else
	echo "not ok 1 - much was asked of it ($asked)"
fi
sleep 6
echo scan >$leaks
sleep 1
echo scan >$leaks
if grep -q unreferenced $leaks; then
	echo "not ok 2 - nothing is lost"
	head -n 60 $leaks | sed 's/^/# /'
else
	echo "ok 2 - nothing is lost"
fi
echo "1..2"
