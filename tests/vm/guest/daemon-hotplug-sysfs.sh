#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# CPUs that come and go, without the module: one that is offline keeps its limit for later, one that comes has its
# plan at once, also what needs its table of states, which an offline CPU does not have. In loops, with the
# real daemon; the kernel's own files say what stands.
#
# guests: qemu-acpi-6.1
# more: qemu-acpi-6.12 qemu-none-6.1
# needs: daemon
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

limited()
{
	[ "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" = "$1" ]
}

# planned: the daemon's view of CPU 1
planned()
{
	cpuidlectl plan --json --cpus 1 | sed -n 's/.*"online": \([a-z]*\).*/\1/p'
}

off_state()
{
	cat $cpu/cpu1/cpuidle/state2/disable 2>/dev/null || echo none
}

off_again()
{
	[ "$(off_state)" = 1 ]
}

mkdir -p /etc/cpuidled/cpuidled.conf.d
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile p]
LatencyLimit=5us
DisableStates=C2
[Group all]
CPUs=all
Profile=p
END
states=$([ -e $cpu/cpu0/cpuidle/state2 ] && echo 1 || echo none)

# ---- offline when the daemon starts ----
echo 0 >$cpu/cpu1/online
cpuidled >$log 2>&1 &
pid=$!
until_true limited 5
is "an offline CPU has its limit for later" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 5
is "and is planned as offline" "$(planned)" false
echo 1 >$cpu/cpu1/online
sleep 0.1
is "100 ms after it came its state is off" "$(off_state)" "$states"
is "its limit stands" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 5
is "and it is planned as online" "$(planned)" true

# ---- in loops, with a hold taken and released while it is away ----
round=0
bad=0
while [ $round -lt 10 ]; do
	echo 0 >$cpu/cpu1/online
	[ $((round % 2)) = 1 ] || cpuidlectl hold --latency 2us --cpus 1 --ttl 1h -q
	[ $((round % 2)) = 0 ] || cpuidlectl release "$(cpuidlectl list-holds | cut -d: -f1)" -q
	want=$([ $((round % 2)) = 1 ] && echo 5 || echo 2)
	limited "$want" || bad=$((bad + 1))
	echo 1 >$cpu/cpu1/online
	sleep 0.1
	limited "$want" || bad=$((bad + 1))
	[ "$(off_state)" = "$states" ] || bad=$((bad + 1))
	round=$((round + 1))
done
is "ten times off and on, with holds in between: wrong values" "$bad" 0
# the file is another one each time, of the same name
if [ "$states" = 1 ]; then
	echo 0 >$cpu/cpu1/cpuidle/state2/disable
	until_true off_again
	is "somebody switches its state on: it is off again" "$(off_state)" 1
fi
echo 0 >$cpu/cpu1/online
sleep 0.1
is "gone once more: planned as offline" "$(planned)" false
is "the daemon is well" "$(cpuidlectl status | sed -n '1s/.*: //p')" ACTIVE
kill $pid
wait $pid
is "it ends well while the CPU is away" $? 0
is "and has put back its limit" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 0
echo 1 >$cpu/cpu1/online
is "and CPU 0's" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 0
is "its state is as it was left" "$(off_state)" "$states"
is "which the record knows" "$([ -e /run/cpuidled/restore ] && echo 1 || echo none)" "$states"
cpuidled --restore
[ "$states" = none ] || is "and --restore puts back" "$(off_state)" 0
is "nothing is left to restore" "$([ -e /run/cpuidled/restore ] && echo 1 || echo none)" none
sed 's/^/# log: /' $log | tail -n 20
echo "1..$count"
