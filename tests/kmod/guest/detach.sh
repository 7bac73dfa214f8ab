#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# rmmod at any moment: with rows and vetoes set, with a CPU that is never idle, with a CPU that is
# offline, in the middle of a governor switch. Each time the driver's table and every disable word
# must be what they were, read from the kernel's memory.
#
# guests: qemu-acpi-6.12 qemu-none-6.1 qemu-arm-none-6.12
# more: qemu-acpi-6.1
# debug: qemu-none-debug qemu-acpi-debug
# needs: module kmodctl
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

# hold ROW...: a daemon that stays, with those rows in force
hold()
{
	rm -f /tmp/held
	/kmodctl hold -grace 60000 "$@" </dev/null >/tmp/held &
	holder=$!
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		grep -q ready /tmp/held && break
		usleep 100000
	done
	grep -q ready /tmp/held
	say $? "rows: $*"
}

vetoes()
{
	/kmodctl snapshot | grep -c 'disable.* 1000[0-9]'
}

# unload TEXT: rmmod with the holder still there, then look
unload()
{
	rmmod cpuidle_policy
	say $? "rmmod $1"
	kill -9 $holder 2>/dev/null
	wait $holder 2>/dev/null
	/kmodctl snapshot >/tmp/after
	cmp -s /tmp/before /tmp/after
	say $? "the kernel's memory is as before"
	diff /tmp/before /tmp/after | sed 's/^/# /'
}

# what hotplug and a governor switch themselves leave behind is in the picture already
echo 0 >$cpu/cpu1/online
echo 1 >$cpu/cpu1/online
governor=$(cat $cpu/cpuidle/current_governor)
others=$(sed "s/\b$governor\b//" $cpu/cpuidle/available_governors)
/kmodctl snapshot >/tmp/before
rows="own=1 cpus=0-1 off=2 bcast=avoid count=1"
[ "$(cat $cpu/cpuidle/current_driver)" = none ] || rows=${rows#own=1 }

insmod /cpuidle_policy.ko
hold "$rows"
sleep 1
[ "$(vetoes)" = 2 ]
say $? "both CPUs carry the veto ($(vetoes))"
unload "with rows in force"

insmod /cpuidle_policy.ko
hold "$rows"
sleep 1
taskset 2 sh -c 'while :; do :; done' &
busy=$!
sleep 1
unload "with CPU 1 never idle"
kill -9 $busy
wait $busy 2>/dev/null

insmod /cpuidle_policy.ko
hold "$rows"
sleep 1
echo 0 >$cpu/cpu1/online
sleep 1
rmmod cpuidle_policy
say $? "rmmod with CPU 1 offline"
kill -9 $holder 2>/dev/null
wait $holder 2>/dev/null
echo 1 >$cpu/cpu1/online
/kmodctl snapshot >/tmp/after
cmp -s /tmp/before /tmp/after
say $? "online again, the kernel's memory is as before"
diff /tmp/before /tmp/after | sed 's/^/# /'

insmod /cpuidle_policy.ko
hold "$rows"
echo 0 >$cpu/cpu1/online
echo 1 >$cpu/cpu1/online
sleep 2
[ "$(vetoes)" = 2 ]
say $? "a CPU that came back carries the veto ($(vetoes))"
for g in $others $governor; do
	echo $g >$cpu/cpuidle/current_governor
done
unload "after governors $others"

for i in 1 2 3 4 5 6 7 8 9 10; do
	insmod /cpuidle_policy.ko
	/kmodctl hold "$rows" </dev/null >/tmp/held &
	holder=$!
	usleep $((i * 20000))
	rmmod cpuidle_policy || break
	kill -9 $holder 2>/dev/null
	wait $holder 2>/dev/null
done
/kmodctl snapshot >/tmp/after
cmp -s /tmp/before /tmp/after
say $? "ten times in and out, at $i moments"
[ ! -e /sys/module/cpuidle_policy ]
say $? "the module is gone"
echo "1..$count"
