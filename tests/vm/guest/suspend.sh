#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Suspend to RAM, which takes every CPU but one off line and starts the machine anew, and suspend to idle, which is
# a long stay in the deepest state: the lease does not run out meanwhile, all that was configured is there after
# it, and in the end the kernel's memory is what it was.
#
# guests: qemu-suspend-6.12
# more: qemu-suspend-none-6.1
# debug: qemu-suspend-debug qemu-suspend-none-debug
# needs: module kmodctl daemon
# seconds: 1200
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

rtc=/sys/class/rtc/rtc0
slept=/sys/power/suspend_stats/success

# The kernel gives a CPU up that does not come within a time, which an emulator on a busy machine may need.
back_on_line()
{
	[ "$(cat $cpu/cpu1/online)" = 0 ] || return
	echo "# CPU 1 did not come back in time, and is brought again"
	echo 1 >$cpu/cpu1/online
}

# to_ram SECONDS: the machine's clock wakes it, and tells how long it was; the kernel's own stands still meanwhile
to_ram()
{
	before=$(cat $slept)
	began=$(cat $rtc/since_epoch)
	echo 0 >$rtc/wakealarm
	echo +"$1" >$rtc/wakealarm
	echo mem >/sys/power/state
	is "suspended to RAM, and back" "$(($(cat $slept) - before))" 1
	began=$(($(cat $rtc/since_epoch) - began))
	back_on_line
	is "after $1 s or more ($began)" "$([ $began -ge "$1" ] && echo yes)" yes
}

# to_idle SECONDS: a key on the console wakes it, which who reads this line presses
to_idle()
{
	before=$(cat $slept)
	echo "# press a key in $1 s"
	echo freeze >/sys/power/state
	is "suspended to idle, and woken by a key" "$(($(cat $slept) - before))" 1
}

# How often the core itself chose state 2 for suspend to idle; our functions have no part in it.
idled()
{
	cat $cpu/cpu0/cpuidle/state2/s2idle/usage 2>/dev/null || echo 0
}

# windows CPU: how often it took the interrupt that woke it before all else
windows()
{
	/kmodctl stats | sed -n "s/^cpu $1 .* windows \([0-9]*\) .*/\1/p"
}

# What is in force, asked of the kernel: the rows, who holds the lease, and whose the functions are.
in_force()
{
	/kmodctl config | sed 's/ generation.*//'
	/kmodctl caps | sed -n 's/ pid.*//p; s/^driver .* \(attached .*\)/\1/p'
	/kmodctl snapshot | grep 'disable'
}

# What wakes by rights the first time, so that what the kernel itself leaves behind is in the picture.
echo enabled >/sys/class/tty/ttyS0/power/wakeup
driver=$(cat $cpu/cpuidle/current_driver)
rows="cpus=0-1 window=2 count=1"
deep=4
[ "$driver" != none ] || rows="own=1 $rows" deep=1
to_ram 3
/kmodctl snapshot >/run/before

# ---- the module, with a lease that is shorter than the sleep
insmod /cpuidle_policy.ko
/kmodctl hold -lease 15000 "$rows" "cpus=1 off=$deep" \
	</dev/null >/run/held &
holder=$!
until_true grep -q ready /run/held
in_force >/run/force
to_ram 18
in_force >/run/force.after
is "a lease of 15 s is still held" "$(/kmodctl caps | sed -n 's/^owner \([^ ]*\) .*/\1/p')" kmodctl
is "rows, vetoes and functions are what they were" "$(diff /run/force /run/force.after)" ""
old=$(windows 1)
sleep 2
is "interrupts are taken in the window on" "$([ "$(windows 1)" -gt "$old" ] && echo yes)" yes
kill -9 $holder
wait $holder 2>/dev/null
rmmod cpuidle_policy
/kmodctl snapshot >/run/after
is "rmmod after it: the kernel's memory is as before" "$(diff /run/before /run/after)" ""

# ---- the daemon, over both
policy all LatencyLimit=40us C1Interrupts=window
insmod /cpuidle_policy.ko
start
cpuidlectl hold --cpus 1 --latency 3us -- sleep 10000 &
holder=$!
sleep 1
cpuidlectl verify >/run/verified
is "the policy is in force" $? 0
in_force >/run/force
/kmodctl qos >/run/limits

to_ram 5
until_true cpuidlectl verify >/run/verified
is "the policy is in force after suspend to RAM" $? 0
is "to the last row and veto" "$(in_force | diff /run/force -)" ""
is "limits and all" "$(/kmodctl qos | diff /run/limits -)" ""
has "CPU 1 is held at its 3 us" "$(cpuidlectl explain 1)" sleep

idle=$(idled)
to_idle 5
until_true cpuidlectl verify >/run/verified
is "the policy is in force after suspend to idle" $? 0
is "to the last row and veto" "$(in_force | diff /run/force -)" ""
is "limits and all" "$(/kmodctl qos | diff /run/limits -)" ""
kill -0 "$pid"
is "by the same daemon" $? 0
if [ "$driver" = acpi_idle ]; then
	is "suspend to idle went by the driver's own way" "$([ "$(idled)" -gt "$idle" ] && echo yes)" yes
fi

kill $holder
kill "$pid"
until_true gone
rmmod cpuidle_policy
/kmodctl snapshot >/run/after
is "all over: the kernel's memory is as before" "$(diff /run/before /run/after)" ""
is "and so are the limits" "$(qos 0) $(qos 1)" "0 0"
echo "1..$count"
echo "# guest done"
