#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The residency guard against a real vicious circle: this guest's C2 is a read of an I/O port that returns at once,
# so an idle CPU enters it as fast as it can, and the kernel counts each entry as too early. The real daemon finds
# that within two looks, Adapt= as well, and a CPU that sleeps in C1 instead is left to sleep. Without the module by the states'
# files, with it by a veto in the kernel. A workload's CPUs are judged as one, by the real pressure of its control group.
#
# guests: qemu-acpi-6.1
# more: qemu-acpi-6.12
# needs: module daemon
# seconds: 900
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

# entries SECONDS: of CPU 0's C2 meanwhile
entries()
{
	before=$(usage 0 2)
	sleep "$1"
	echo $(($(usage 0 2) - before))
}

off()
{
	[ "$(cat $cpu/cpu0/cpuidle/state2/disable)" = 1 ] && [ "$(cat $cpu/cpu1/cpuidle/state2/disable)" = 1 ]
}

told_twice()
{
	[ "$(grep -c 'residency guard: CPU.*C2 was left before' $log)" -ge "$1" ]
}

limited()
{
	[ "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" = 5 ] && [ "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" = 5 ]
}

tasks_wait()
{
	[ "$(sed -n 's/^some avg10=\([0-9]*\).*/\1/p' /proc/pressure/cpu)" -ge 10 ]
}

told_of_pool()
{
	grep -q 'Adapt: workload pool' $log
}

told_all()
{
	cpuidlectl status >/run/status && grep -q '2 states off' /run/status
}

start()
{
	: >$log
	cpuidled >>$log 2>&1 &
	pid=$!
	until_true serving
}

policy()
{
	mkdir -p /etc/cpuidled/cpuidled.conf.d
	printf '[Daemon]\nDefaultProfile=p\n[Profile p]\nResidencyGuard=%s\n' "$1" >/etc/cpuidled/cpuidled.conf.d/50-guest.conf
}

many=$(entries 2)
echo "# C2 of CPU 0 before: $many entries in 2 s"
is "the circle is there" "$([ "$many" -ge 5000 ] && echo yes || echo "$many")" yes

policy off
start
sleep 3
is "off: nothing is done" "$(cat $cpu/cpu*/cpuidle/state2/disable | tr '\n' ' ')" "0 0 "
policy auto
cpuidlectl reload
until_true off
cpuidlectl status >/run/status
cpuidlectl explain 0 >/run/explain
is "auto: C2 is taken away from both CPUs" "$(cat $cpu/cpu*/cpuidle/state2/disable | tr '\n' ' ')" "1 1 "
few=$(entries 2)
is "and is entered no more" "$few" 0
grep 'residency guard' $log | sed 's/^/# log: /'
has "the log says what was seen" "$(cat $log)" "C2 was left before it was worth it (36us)"
has "status counts" "$(cat /run/status)" "2 states off; 2 vetoes"
has "explain says it" "$(cat /run/explain)" "C2 is off on"
cpuidlectl verify >/run/verify
is "verify finds no difference" $? 0
# Sleeping in C1, the CPU is calm: C2 gets another try, and is taken away for longer.
until_true told_twice 3
until_true off
has "tried again, and taken away for twice as long" "$(cat $log)" "off for 20s"
grep 'residency guard' $log | sed 's/^/# log: /'
printf '[Daemon]\nDefaultProfile=p\n[Profile p]\nAdapt=5us\n' >/etc/cpuidled/cpuidled.conf.d/50-guest.conf
cpuidlectl reload
until_true limited
cpuidlectl explain 0 >/run/explain
few=$(entries 2)
is "Adapt=5us: a CPU that leaves C2 that often has the limit" "$(cat $cpu/cpu*/power/pm_qos_resume_latency_us | tr '\n' ' ')" "5 5 "
is "and C2 is entered no more" "$few" 0
has "explain tells why" "$(cat /run/explain)" "by Adapt= of profile p (5us)"
grep 'Adapt:' $log | sed 's/^/# log: /'
has "the log has the numbers" "$(cat $log)" "wake-ups a second from states above 5us"
# Others wait for CPU 0 all the time, the workload's own task for nothing.
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir /sys/fs/cgroup/pool
sleep 1000 &
echo $! >/sys/fs/cgroup/pool/cgroup.procs
taskset 1 sh -c 'while :; do :; done' &
spinning=$!
taskset 1 sh -c 'while :; do :; done' &
spinning="$spinning $!"
until_true tasks_wait
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile p]
Adapt=5us
AdaptScope=group
[Workload pool]
Cgroup=/pool
CPUs=all
Profile=p
END
# Anew: a group that busy CPUs join is busy at its first look, which has no pressure to tell yet.
kill "$pid"
until_true gone
start
until_true told_of_pool
grep 'Adapt:' $log | tail -n 1 | sed 's/^/# log: /'
is "tasks of the machine wait" "$(tasks_wait && echo yes)" yes
has "AdaptScope=group: the workload's own pressure, not the machine's" "$(grep 'Adapt: workload pool, CPUs 0-1: ' $log)" \
	"on one CPU, tasks waited for a CPU 0 % of the time; limit 5us"
is "and both CPUs have the limit, the one that spins as well" "$(cat $cpu/cpu*/power/pm_qos_resume_latency_us | tr '\n' ' ')" "5 5 "
# shellcheck disable=SC2086
kill $spinning
kill "$pid"
until_true gone
is "stopped: no limit is left" "$(cat $cpu/cpu*/power/pm_qos_resume_latency_us | tr '\n' ' ')" "0 0 "
is "stopped: C2 is back" "$(cat $cpu/cpu*/cpuidle/state2/disable | tr '\n' ' ')" "0 0 "

insmod /cpuidle_policy.ko
policy auto
start
until_true told_all
few=$(entries 2)
is "with the module: C2 is entered no more" "$few" 0
is "and its files are left alone" "$(cat $cpu/cpu*/cpuidle/state2/disable | tr '\n' ' ')" "0 0 "
cpuidlectl verify >/run/verify
is "verify finds no difference" $? 0
kill -9 "$pid"
until_true gone
many=$(entries 2)
is "killed: the kernel gives C2 back" "$([ "$many" -ge 5000 ] && echo yes || echo "$many")" yes
start
kill "$pid"
until_true gone
sed 's/^/# log: /' $log | tail -n 30
echo "1..$count"
