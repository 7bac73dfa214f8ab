#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The service as systemd runs it, in its cage, with the module: it may speak to it, is killed and comes
# back by itself, and leaves nothing when it is stopped.
#
# guests: qemu-systemd-6.1
# needs: module kmodctl daemon
# seconds: 1200
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

notes()
{
	journalctl -u cpuidled -n 6 -o cat --no-pager | sed 's/^/# journal: /'
}

owner()
{
	/kmodctl caps | sed -n 's/^owner \([^ ]*\) pid \([0-9]*\) .*/\1 \2/p'
}

owned()
{
	[ "$(owner)" = "cpuidled $(prop MainPID)" ]
}

# Another process than the killed one has the lease.
owned_anew()
{
	owned && [ "$(prop MainPID)" != "$killed" ]
}

mkdir -p /etc/cpuidled/cpuidled.conf.d
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile p]
LatencyLimit=5us
C1Interrupts=window
[Group all]
CPUs=all
Profile=p
END
insmod /cpuidle_policy.ko
systemctl start cpuidled
is "the unit starts" $? 0
has "and has the module" "$(cpuidlectl status)" "cpuidle_policy 1 on acpi_idle"
is "the lease is that of the main process" "$(owner)" "cpuidled $(prop MainPID)"
has "the kernel keeps the limit" "$(/kmodctl qos)" 5000
has "and the window" "$(/kmodctl config)" "window 0x2"
is "the CPU's file is left alone" "$(cat $cpu/cpu0/power/pm_qos_resume_latency_us)" 0
systemctl reload cpuidled
is "it reloads" $? 0
killed=$(prop MainPID)
kill -9 "$killed"
until_true owned_anew
is "killed, it is back with the module" "$(owner)" "cpuidled $(prop MainPID)"
has "and so is the limit" "$(/kmodctl qos)" 5000
systemctl stop cpuidled
is "stopped: nobody has the lease" "$(owner)" ""
is "no limit is left" "$(/kmodctl qos | grep -c 5000)" 0
has "the driver's table is put back" "$(/kmodctl caps)" "attached 0"
rmmod cpuidle_policy
is "the module can go" $? 0
journalctl -u cpuidled -o cat --no-pager | sed 's/^/# journal: /' | tail -n 30
echo "1..$count"
