#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# On the debug kernel: the module at work while what a CPU does is traced, and how long interrupts are off. That
# no function tracer gets into its idle path, objtool has shown (check-noinstr): a hook for one is a call
# out of it.
#
# debug: qemu-acpi-debug
# needs: module kmodctl
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh
trace=/sys/kernel/tracing

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
for group in power sched irq irq_vectors timer rcu; do
	echo 1 >$trace/events/$group/enable
done
work "events traced"
grep -q 'cpu_idle: state=2' $trace/trace
say $? "the idle loop was seen with it"
for group in power sched irq irq_vectors timer rcu; do
	echo 0 >$trace/events/$group/enable
done
echo 0 >$trace/options/function-trace
echo irqsoff >$trace/current_tracer
work "interrupts off being measured"
longest=$(cat $trace/tracing_max_latency)
[ "$longest" -gt 0 ]
say $? "they were ($longest us)"
echo nop >$trace/current_tracer
rmmod cpuidle_policy
say $? "rmmod"
echo "1..$count"
