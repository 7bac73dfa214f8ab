#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a policy asks of the module on each kind of host: its own driver where the kernel has none, no
# broadcast where the timer stops, the interrupt window and sti-mwait on MWAIT. The real daemon, asked by the
# client; the kernel's counters and the module say what is so.
#
# guests: qemu-none-6.12 qemu-acpi-noarat-6.1 bochs-spr-6.1 bochs-skx-6.1
# more: qemu-none-6.1
# needs: module kmodctl daemon
# seconds: 1800
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

driver()
{
	cat $cpu/cpuidle/current_driver
}

rows()
{
	/kmodctl config | sed 's/^/# config: /'
}

insmod /cpuidle_policy.ko
case $CPUIDLED_GUEST in
qemu-none-*)
	# nothing asked for: nothing is brought
	start
	is "no driver is brought for nothing" "$(driver)" none
	has "status says that one could be" "$(cat /run/status)" "the module's own can be used"
	policy all LatencyLimit=0
	reload
	is "a limit brings the module's own driver" "$(driver)" cpuidle_policy
	cpuidlectl plan | sed 's/^/# plan: /'
	has "the plan has its states" "$(cpuidlectl plan)" POLL
	is "a limit of zero: HALT is not entered" "$(entered 0 1) $(entered 1 1)" "no no"
	is "the CPU polls" "$(entered 0 0)" yes
	policy all LatencyLimit=1ms
	reload
	is "a long one: HALT is" "$(entered 0 1) $(entered 1 1)" "yes yes"
	policy all LatencyLimit=none
	reload
	is "without a limit the driver goes" "$(driver)" none
	policy all LatencyLimit=0
	reload
	is "and comes again" "$(driver)" cpuidle_policy
	kill -9 "$pid"
	until_true gone
	away()
	{
		[ "$(driver)" = none ]
	}
	until_true away
	is "killed: no driver is left" "$(driver)" none
	;;
qemu-acpi-noarat-*)
	policy 0 Broadcast=avoid
	start
	rows
	has "the plan avoids broadcast" "$(cpuidlectl plan --json --cpus 0)" '"effective": "avoid"'
	is "CPU 0 uses no state whose timer stops, CPU 1 does" "$(entered 0 2) $(entered 1 2)" "no yes"
	policy 0 Broadcast=off
	reload
	has "off is refused with its reason" "$(cpuidlectl explain 0)" "would be lost"
	is "and nothing is off" "$(entered 0 2)" yes
	policy 0 Broadcast=avoid
	reload
	kill -9 "$pid"
	until_true gone
	is "killed: C2 is entered again" "$(entered 0 2)" yes
	;;
bochs-*)
	policy all LatencyLimit=20us C1Interrupts=window
	start
	rows
	has "the module hooks intel_idle" "$(cat /run/status)" "on intel_idle"
	has "the window is open on C1 and C1E" "$(/kmodctl config)" "window 0x6"
	has "the kernel keeps the limit" "$(/kmodctl qos)" 20000
	is "C6 is not entered" "$(entered 0 3)" no
	policy all C1Interrupts=sti-mwait DisableStates=C6
	reload
	rows
	has "sti-mwait on C1, and C6 off" "$(/kmodctl config)" "sti 0x2 off 0x8"
	is "C6 is not entered" "$(entered 0 3)" no
	is "its file says nothing" "$(cat $cpu/cpu0/cpuidle/state3/disable)" 0
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	kill -9 "$pid"
	until_true gone
	is "killed: C6 is entered again" "$(entered 0 3)" yes
	;;
esac
start
kill "$pid"
until_true gone
has "stopped: the driver's table is put back" "$(/kmodctl caps)" "attached 0"
rmmod cpuidle_policy
is "the module can go" $? 0
sed 's/^/# log: /' $log | tail -n 30
echo "1..$count"
