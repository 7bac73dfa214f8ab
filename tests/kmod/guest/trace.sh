#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# On the debug kernel: the module at work while everything is traced, functions and events and how long
# interrupts are off. What runs without RCU must not be seen by any tracer.
#
# debug: qemu-acpi-debug
# needs: module kmodctl
trace=/sys/kernel/tracing
count=0

say()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
	fi
}

work()
{
	/kmodctl hold -lease 60000 "cpus=0-1 count=1 off=2" "cpus=1 window=4" </dev/null >/tmp/held &
	holder=$!
	sleep 3
	grep -q ready /tmp/held
	say $? "at work with $1"
	kill -9 $holder
	wait $holder 2>/dev/null
}

insmod /cpuidle_policy.ko
echo 512 >$trace/buffer_size_kb
echo 1 >$trace/events/enable
work "every event traced"
echo 0 >$trace/events/enable
for tracer in function irqsoff; do
	echo $tracer >$trace/current_tracer
	[ "$(cat $trace/current_tracer)" = $tracer ]
	say $? "tracer $tracer"
	work "tracer $tracer"
	grep -q ' modes_\| netlink_' $trace/trace || [ $tracer != function ]
	say $? "the module's control is seen by it"
	! grep -q ' enter_[0-9s]\| own_halt' $trace/trace
	say $? "its idle path is not"
	echo nop >$trace/current_tracer
	echo >$trace/trace
done
rmmod cpuidle_policy
say $? "rmmod"
echo "1..$count"
