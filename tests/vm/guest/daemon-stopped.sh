#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that lives and does nothing, which the end of its process does not tell: when its lease runs out the host
# has its own settings, and once it is at work again, all is as configured. Leases are so short here that the daemon
# loses each between two renewals, so what is asked while it is at work is asked until it is so.
#
# guests: qemu-acpi-6.12
# more: qemu-none-6.1
# needs: module4 kmodctl daemon
# seconds: 600
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

in_force()
{
	/kmodctl config | sed 's/ generation.*//'
	/kmodctl qos
}

owner()
{
	/kmodctl caps | sed -n 's/^owner \([^ ]*\) .*/\1/p'
}

owned()
{
	[ "$(owner)" != "" ]
}

unowned()
{
	! owned
}

again()
{
	in_force | cmp -s - /run/force
}

policy all LatencyLimit=40us C1Interrupts=window
insmod /cpuidle_policy4.ko
in_force >/run/nothing
start
cpuidlectl hold --cpus 1 --latency 3us -- sleep 10000 &
holder=$!
until_true sh -c '/kmodctl qos | grep -q 3'
cpuidlectl monitor --json >/run/told 2>/dev/null &
until_true cpuidlectl verify >/run/verified
is "the policy is in force" $? 0
until_true owned
in_force >/run/force

for _ in 1 2 3; do
	kill -STOP "$pid"
	until_true unowned
	is "stopped: the lease runs out" "$(owner)" ""
	is "and the host has its own settings" "$(in_force | diff /run/nothing -)" ""
	kill -CONT "$pid"
	until_true owned
	is "at work again: it has the lease" $? 0
	until_true again
	is "and all is as configured" $? 0
done
until_true cpuidlectl verify >/run/verified
is "verify finds no fault" $? 0
has "monitor told of it" "$(grep '"backend"' /run/told)" cpuidle_policy

kill $holder
kill "$pid"
until_true gone
rmmod cpuidle_policy
is "rmmod" $? 0
is "limits are the host's" "$(qos 0) $(qos 1)" "0 0"
echo "1..$count"
echo "# guest done"
