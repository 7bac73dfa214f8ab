#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Does a limit reach the silicon? The daemon sets one that the deepest state is above; the kernel's
# own counters then say that no CPU enters it, and that they do again once the daemon has stopped or
# is dead and the host restored. On an idle guest, so that nothing else keeps a CPU awake.
#
# guests: qemu-acpi-6.1 bochs-skx-6.1
# more: qemu-acpi-6.12
# needs: daemon
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

# usage NAME: entries of that state, all CPUs together
usage()
{
	total=0
	for dir in "$cpu"/cpu[0-9]*/cpuidle/state*; do
		[ "$(cat "$dir/name")" != "$1" ] || total=$((total + $(cat "$dir/usage")))
	done
	echo "$total"
}

# entered NAME: is it entered within two seconds?
entered()
{
	before=$(usage "$1")
	sleep 2
	[ "$(usage "$1")" != "$before" ] && echo yes || echo no
}

limited()
{
	grep -qx 5 $cpu/cpu0/power/pm_qos_resume_latency_us
}

start()
{
	cpuidled &
	pid=$!
	until_true limited
	is "the daemon has set $1" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 5
	# a CPU that sleeps in a deep state is let out of it, and the entry is counted, when it wakes
	sleep 1
}

deep=$(cat $cpu/cpu0/cpuidle/state*/name | tail -n 1)
shallow=$(cat $cpu/cpu0/cpuidle/state1/name)
mkdir -p /etc/cpuidled/cpuidled.conf.d
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile tight]
LatencyLimit=5us
[Group all]
CPUs=all
Profile=tight
END

is "an idle host enters $deep" "$(entered "$deep")" yes
start "its limit"
is "$deep is entered no more" "$(entered "$deep")" no
is "$shallow is" "$(entered "$shallow")" yes
kill "$pid"
until_true gone
is "stopped, it has put back CPU 0's" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 0
is "$deep is entered again" "$(entered "$deep")" yes

start "it again"
kill -9 "$pid"
until_true gone
is "killed, its limit outlives it" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 5
cpuidled --restore
is "--restore puts back CPU 0's" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 0
is "and $deep is entered again" "$(entered "$deep")" yes
echo "1..$count"
