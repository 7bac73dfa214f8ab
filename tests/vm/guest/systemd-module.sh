#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The unit as shipped, on a host where the module is installed: the service loads it by its alias, lets it
# keep the limits beside what others wrote, and whatever ends the service gives the CPUs back.
#
# guests: qemu-systemd-6.12
# needs: module daemon
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

notes()
{
	journalctl -u cpuidled -n 6 -o cat --no-pager | sed 's/^/# journal: /'
}

unit=cpuidled.service
drop=/etc/cpuidled/cpuidled.conf.d

loaded()
{
	grep -q '^cpuidle_policy ' /proc/modules
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
is "CPU 1 sleeps deep before" "$(entered 1 2)" yes
systemctl start $unit
is "the unit runs" "$(prop ActiveState)" active
is "and has loaded the module" "$(loaded && echo yes || echo no)" yes
cpuidlectl status | sed 's/^/# /'
is "the module is in use" "$(cpuidlectl status | grep -c 'set by module')" 1
is "the file keeps what others wrote" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 200
is "CPU 1 stays shallow" "$(entered 1 2)" no
is "CPU 0 does not" "$(entered 0 2)" yes
cpuidlectl verify >/dev/null 2>&1
is "all is as planned" "$?" 0

pid=$(prop MainPID)
systemctl kill --kill-whom=main --signal=KILL $unit
until_true back_with_other_pid "$pid"
is "restarted after SIGKILL" "$(prop ActiveState)" active
is "CPU 1 stays shallow with the successor" "$(entered 1 2)" no

systemctl stop $unit
is "CPU 1 sleeps deep again after stop" "$(entered 1 2)" yes
is "and the file is as it was" "$(cat $cpu/cpu1/power/pm_qos_resume_latency_us)" 200
rmmod cpuidle_policy
is "the module can go" "$?" 0
is "CPU 1 still sleeps deep" "$(entered 1 2)" yes
echo "1..$count"
echo "# guest done"
