#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The unit as shipped, on a host where the module is installed: the service loads it by its alias, lets it
# keep the limits beside what others wrote, and whatever ends the service gives the CPUs back.
#
# guests: qemu-systemd-6.12
# needs: module daemon

unit=cpuidled.service
drop=/etc/cpuidled/cpuidled.conf.d
cpu=/sys/devices/system/cpu
count=0

# is NAME GOT WANTED
is()
{
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1: $2"
	else
		echo "not ok $count - $1: '$2', wanted '$3'"
		journalctl --no-pager -o cat -u $unit | tail -n 5 | sed 's/^/#   /'
	fi
}

prop()
{
	systemctl show -P "$1" "$unit"
}

# until COMMAND ...: waits for what comes by itself; the bound is only for when it never does
until_true()
{
	local i
	for ((i = 0; i < 120; i++)); do
		! "$@" || return 0
		sleep 1
	done
	return 1
}

# C2 is state 2 and needs 18us: does CPU $1 go there within two seconds?
enters_c2()
{
	local before
	sleep 1
	before=$(cat "$cpu/cpu$1/cpuidle/state2/usage")
	sleep 2
	[ "$(cat "$cpu/cpu$1/cpuidle/state2/usage")" != "$before" ] && echo yes || echo no
}

loaded()
{
	grep -q '^cpuidle_policy ' /proc/modules
}

another_pid()
{
	[ "$(prop ActiveState)" = active ] && [ "$(prop MainPID)" != "$1" ]
}

here=$(uname -r)
mkdir -p "/lib/modules/$here/updates" "$drop"
cp /cpuidle_policy.ko "/lib/modules/$here/updates/"
depmod "$here"
cat >"$drop/50-guest.conf" <<-END
	[Profile tight]
	LatencyLimit=5us
	[Group one]
	CPUs=1
	Profile=tight
END
echo 200 >$cpu/cpu1/power/pm_qos_resume_latency_us

is "nobody has loaded the module" "$(loaded && echo yes || echo no)" no
is "CPU 1 sleeps deep before" "$(enters_c2 1)" yes
systemctl start $unit
is "the unit runs" "$(prop ActiveState)" active
is "and has loaded the module" "$(loaded && echo yes || echo no)" yes
cpuidlectl status | sed 's/^/# /'
is "the module is in use" "$(cpuidlectl status | grep -c 'set by module')" 1
is "the file keeps what others wrote" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 200
is "CPU 1 stays shallow" "$(enters_c2 1)" no
is "CPU 0 does not" "$(enters_c2 0)" yes
cpuidlectl verify >/dev/null 2>&1
is "all is as planned" "$?" 0

pid=$(prop MainPID)
systemctl kill --kill-whom=main --signal=KILL $unit
until_true another_pid "$pid"
is "restarted after SIGKILL" "$(prop ActiveState)" active
is "CPU 1 stays shallow with the successor" "$(enters_c2 1)" no

systemctl stop $unit
is "CPU 1 sleeps deep again after stop" "$(enters_c2 1)" yes
is "and the file is as it was" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 200
rmmod cpuidle_policy
is "the module can go" "$?" 0
is "CPU 1 still sleeps deep" "$(enters_c2 1)" yes
echo "1..$count"
echo "# guest done"
