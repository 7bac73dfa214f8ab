#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# C0.1 and C0.2 as a policy asks for them: in POLL's place, in C1's, as a state of their own, with the real
# daemon, module and client on a CPU that executes UMWAIT. The kernel's files and counters say what is so, also
# after the daemon was killed; a CPU without UMWAIT and a driver that takes no state more say why not.
#
# guests: bochs-spr-6.1 bochs-spr-6.12 bochs-skx-6.1 bochs-acpi-6.1 bochs-spr2-6.1
# more: bochs-none-6.1
# append: maxcpus=1
# needs: module kmodctl daemon demo
# seconds: 1800
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

idle()
{
	cat "$cpu/cpu0/cpuidle/state$1/$2"
}

# The names of CPU 0's states, in sysfs' order.
names()
{
	cat $cpu/cpu0/cpuidle/state?/name | tr '\n' ' ' | sed 's/ $//'
}

umwait()
{
	cat $cpu/umwait_control/"$1"
}

in_state()
{
	cpuidlectl status >/run/status 2>/dev/null && grep -q "$1" /run/status
}

start()
{
	cpuidled >>$log 2>&1 &
	pid=$!
	until_true in_state "ACTIVE\|DEGRADED"
}

stop()
{
	kill "$pid"
	until_true gone
}

explain()
{
	cpuidlectl explain 0
}

kept()
{
	/kmodctl config
}

# The emulator ends UMWAIT at umwait_control's limit as at a deadline, so the policy takes it away here.
every_place()
{
	plain=$(names)
	# Somebody has a state off, before us and all the time.
	echo 1 >$cpu/cpu0/cpuidle/state2/disable
	policy all LatencyLimit=0 C0=auto ZeroLatency=c0 '[Daemon]' UmwaitMaxTime=0
	start
	is "the limit on UMWAIT's time is taken away" "$(umwait max_time)" 0
	has "explain says by what" "$(explain)" "no limit of time by UmwaitMaxTime="
	has "ZeroLatency=c0: POLL waits in C0.2" "$(kept)" "poll 2 c1 0 row 0"
	has "the plan says so" "$(cpuidlectl plan --json --cpus 0)" '"effective": "c0.2-poll"'
	has "explain as well" "$(explain)" "POLL waits in C0.2"
	is "nothing else is entered" "$(entered 0 0) $(entered 0 1) $(entered 0 3)" "yes no no"

	policy all C0=state DisableStates=C1 DisableStates=C6 '[Daemon]' UmwaitMaxTime=0
	reload
	cpuidlectl plan | sed 's/^/# plan: /'
	is "a state of its own" "$(names)" "POLL C0.2 ${plain#POLL }"
	is "it is entered, C1, C1E and C6 are not" \
		"$(entered 0 1) $(entered 0 2) $(entered 0 3) $(entered 0 4)" "yes no no no"
	has "it has a time of its own" "$([ "$(idle 1 time)" -gt 0 ] && echo more)" more
	is "C1E is off by whom it was, and no file of its neighbours" \
		"$(cat $cpu/cpu0/cpuidle/state?/disable | tr -d '\n')" 00010
	has "explain knows who" "$(explain)" "C1E disabled before us"
	has "the module has C1 and C6 off, by their own numbers" "$(kept)" "off 0xa"
	has "and explain tells" "$(explain)" "a state of its own is there, C0.2; keeps C1, C6 off"
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	used=$(idle 1 usage)

	# C1E is nobody's any more while the state is there, C6 somebody's.
	echo 0 >$cpu/cpu0/cpuidle/state3/disable
	echo 1 >$cpu/cpu0/cpuidle/state4/disable
	policy all C0=state DisableStates=halt '[Daemon]' UmwaitMaxTime=0 UmwaitC02=off
	reload
	is "what the host forbids becomes C0.1" "$(names)" "POLL C0.1 ${plain#POLL }"
	has "explain says why" "$(explain)" "umwait_control/enable_c02 is 0, so the CPU takes C0.1"
	is "the file says so" "$(umwait enable_c02)" 0
	is "counters have stayed" "$([ "$(idle 1 usage)" -ge "$used" ] && echo yes)" yes

	policy all C0=c1 C0Depth=C0.1 C1Interrupts=window
	reload
	is "without it, the states have their own numbers" "$(names)" "$plain"
	has "C1 and POLL wait in C0.1, the window is open" "$(kept)" "window 0x6 sti 0 off 0 bcast 0 count 0 poll 1 c1 1 row 0"
	is "C6's bit went with it" "$(cat $cpu/cpu0/cpuidle/state?/disable | tr -d '\n')" 0001
	is "umwait_control is as it was" "$(umwait enable_c02) $(umwait max_time)" "1 100000"
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0

	# Others' zero, on the device that is for all.
	policy all C0=auto ZeroLatency=c0
	reload
	has "no limit: nothing is asked" "$(kept)" "poll 0 c1 0 row 0"
	exec 4<>/dev/cpu_dma_latency
	printf '\000\000\000\000' >&4
	zero()
	{
		kept | grep -q "poll $1 "
	}
	until_true zero 2
	has "somebody holds zero: POLL waits in C0.2" "$(kept)" "poll 2"
	exec 4>&-
	until_true zero 0
	has "he lets go: POLL is POLL" "$(kept)" "poll 0"

	# Killed with everything in use.
	policy all C0=state DisableStates=halt '[Daemon]' UmwaitMaxTime=0
	reload
	is "again" "$(names)" "POLL C0.2 ${plain#POLL }"
	kill -9 "$pid"
	until_true gone
	is "killed: the state is gone at once" "$(names)" "$plain"
	is "somebody's bit is where it was" "$(cat $cpu/cpu0/cpuidle/state?/disable | tr -d '\n')" 0001
	is "the file is left" "$(umwait max_time)" 0
	cpuidled --restore
	is "and restored" "$(umwait max_time)" 100000
	start
	is "a successor brings it again" "$(names)" "POLL C0.2 ${plain#POLL }"
	stop
	is "stopped: all is as it was" "$(names) $(umwait max_time)" "$plain 100000"
	is "somebody's bit as well" "$(cat $cpu/cpu0/cpuidle/state?/disable | tr -d '\n')" 0001
	echo 0 >$cpu/cpu0/cpuidle/state3/disable
}

insmod /cpuidle_policy.ko
case $CPUIDLED_GUEST in
bochs-spr-*)
	every_place
	;;
bochs-spr2-*)
	# CPU 1 was never online: CAPS do not tell, the module does when it is asked.
	policy all C0=state DisableStates=halt
	start
	has "refused in the module's own words" "$(cat /run/status)" "a CPU that is offline has not been idle since"
	has "which shows" "$(cat /run/status)" DEGRADED
	has "POLL waits meanwhile" "$(kept)" "poll 2 c1 0 row 0"
	has "the rest is done" "$(kept)" "off 0x6"
	has "explain says why" "$(explain)" "a CPU that is offline has not been idle since"
	cpuidlectl reload >/run/reload 2>&1
	is "a reload stands" $? 0
	has "and warns" "$(cat /run/reload)" "C0.x goes without a state of its own"
	echo 1 >$cpu/cpu1/online
	until_true in_state ACTIVE
	has "once it is online, the state comes" "$(names)" "POLL C0.2"
	has "and all is well" "$(cat /run/status)" ACTIVE
	stop
	;;
bochs-skx-*)
	policy all C0=state '[Daemon]' UmwaitMaxTime=0
	start
	has "no UMWAIT: it stays off" "$(kept)" "poll 0 c1 0 row 0"
	has "explain says why" "$(explain)" "the CPU has no UMWAIT"
	has "and the log about umwait_control" "$(cat $log)" "there is no cpu/umwait_control"
	has "the daemon is active" "$(cat /run/status)" ACTIVE
	is "the states are the driver's" "$(names)" "POLL C1 C1E C6"
	stop
	;;
bochs-acpi-*)
	policy all C0=state
	start
	has "no state more: POLL waits in C0.2" "$(kept)" "poll 2 c1 0 row 0"
	has "explain says why, in the module's words" "$(explain)" "this driver knows its states by their place in the table"
	has "the daemon is active" "$(cat /run/status)" ACTIVE
	stop
	;;
bochs-none-*)
	policy all C0=state
	start
	is "C0.x that is named brings a driver" "$(cat $cpu/cpuidle/current_driver)" cpuidle_policy
	has "and the state in it" "$(names)" "POLL C0.2"
	stop
	;;
esac
has "stopped: the driver's table is put back" "$(/kmodctl caps)" "attached 0"
rmmod cpuidle_policy
is "the module can go" $? 0

# What a newcomer is shown (./dev run --emulated).
case $CPUIDLED_GUEST in
bochs-spr-6.12)
	rm -f /etc/cpuidled/cpuidled.conf.d/50-guest.conf
	sh /demo >/run/demo
	sed 's/^/# demo: /' /run/demo
	is "the demonstration shows the time in C0.2" \
		"$(awk '$2 == "C0.2" && $3 ~ /^[0-9]+$/ && $3 > 0 && $5 > 1000000 { print "yes" }' /run/demo)" yes
	has "and why" "$(cat /run/demo)" "a state of its own is there, C0.2"
	killall cpuidled
	;;
esac
sed 's/^/# log: /' $log | tail -n 40
echo "1..$count"
