#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# On arm64 with the own driver, in one boot: each mode by the kernel's counters, haltpoll, what is refused; then
# the module goes, and the kernel has no driver again.
#
# guests: qemu-arm-none-6.1
# more: qemu-arm-none-6.12
# needs: module kmodctl
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

insmod /cpuidle_policy.ko
for part in modes haltpoll; do
	/kmodctl $part | sed "/^1\.\./d; s/^\(\(not \)*ok\) [0-9]* - /\1 - $part: /"
done | tee /tmp/tap
count=$(grep -c '^\(not \)*ok' /tmp/tap)

/kmodctl hold "own=1 cpus=0-1 count=1" </dev/null >/tmp/held &
holder=$!
sleep 2
cpuidle=/sys/devices/system/cpu/cpu1/cpuidle
is "the own driver's states" "$(cat $cpuidle/state*/name | tr '\n' ' ')" "POLL WFI "
usage=$(cat $cpuidle/state1/usage)
sleep 1
is "WFI is used" "$([ "$(cat $cpuidle/state1/usage)" -gt "$usage" ] && echo yes)" yes
# with nothing but POLL left it is what the CPU does, and is left for work
echo 1 >$cpuidle/state1/disable
sleep 1
usage=$(cat $cpuidle/state1/usage)
time=$(cat $cpuidle/state0/time)
for _ in 1 2 3 4 5 6 7 8; do
	taskset 2 true
	usleep 50000
done
is "WFI is not, when it is disabled" "$(cat $cpuidle/state1/usage)" "$usage"
is "POLL is instead" "$([ "$(cat $cpuidle/state0/time)" -gt "$time" ] && echo yes)" yes
echo 0 >$cpuidle/state1/disable
kill -9 $holder
wait $holder 2>/dev/null

# refused ROW WORDS: and what the reason must have in it
refused()
{
	/kmodctl try "own=1 cpus=0 $1" >/tmp/try
	is "refused: $1: $(cat /tmp/try)" "$(grep -c "^-95.*$2" /tmp/try)" 1
}

refused poll=2 "no CPU has UMWAIT"
refused c1=1 "no CPU has UMWAIT"
refused row=2 "no CPU has UMWAIT"
refused sti=2 "a driver that uses MWAIT"
refused ioport=1 "I/O port states are for x86"
refused window=1 "a polling state"
rmmod cpuidle_policy
is "rmmod" $? 0
is "no driver" "$(cat /sys/devices/system/cpu/cpuidle/current_driver)" none
# the kernel's own way to idle is an event of its, too
cd /sys/kernel/tracing && echo 1 >events/power/cpu_idle/enable
sleep 1
echo 0 >events/power/cpu_idle/enable
for cpu in 0 1; do
	is "CPU $cpu idles without one" "$(grep -q ' state=1 ' per_cpu/cpu$cpu/trace && echo yes)" yes
done
echo "1..$count"
