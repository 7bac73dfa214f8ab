#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon and the module, as they meet: the module comes under a running daemon, takes over what the
# host's files did, is reloaded, lost, taken by somebody else, and the daemon is killed. After each step
# the kernel is asked what stands, and its own counters what is entered.
#
# guests: qemu-acpi-6.1 qemu-acpi-6.12
# needs: module module2 kmodctl daemon
# seconds: 900
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

# What the kernel keeps, as kmodctl prints it.
kept()
{
	/kmodctl "$1" 2>/dev/null
}

owner()
{
	kept caps | sed -n 's/^owner \([^ ]*\) .*/\1/p'
}

owned_by()
{
	[ "$(owner)" = "$1" ]
}

told()
{
	grep "\"what\":\"$1\"" /run/told
}

backend_told()
{
	told backend | grep -q "$1"
}

reload_told()
{
	cpuidlectl reload >/dev/null
	told reload >/dev/null
}

# Monitor's lines in /run/told, once it is there to listen.
listen()
{
	: >/run/told
	cpuidlectl monitor --json >/run/told 2>/dev/null &
	until_true reload_told
}

# Writes a state's file where the daemon does not see it: sysfs of another network namespace has other inodes.
write_unseen()
{
	unshare -n sh -c "mkdir -p /run/sys && mount -t sysfs sysfs /run/sys && echo $2 >/run/sys/devices/system/cpu/$1 && umount /run/sys"
}

disabled()
{
	[ "$(cat $cpu/cpu1/cpuidle/state2/disable)" = "$1" ]
}

file_is()
{
	[ "$(qos "$1")" = "$2" ]
}

stop()
{
	kill "$pid"
	until_true gone
}

# kB of anonymous memory, heap and all
anonymous()
{
	sed -n 's/^Anonymous: *\([0-9]*\) kB/\1/p' "/proc/$pid/smaps_rollup"
}

policy()
{
	mkdir -p /etc/cpuidled/cpuidled.conf.d
	cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf
}

# CPU 0 has a limit and the window, CPU 1 a state less.
one()
{
	policy <<'END'
[Profile tight]
LatencyLimit=5us
C1Interrupts=window
[Profile less]
DisableStates=C2
[Group zero]
CPUs=0
Profile=tight
[Group one]
CPUs=1
Profile=less
END
}

# ---- without the module
one
# what a start without the module takes, before anybody has asked anything but the state
start
without=$(anonymous)
stop
is "an idle host enters C2 on both" "$(entered 0 2) $(entered 1 2)" "yes yes"
start
has "status says that there is no module" "$(cat /run/status)" "cpuidle_policy"
has "and that the files are used" "$(cat /run/status)" "set by sysfs"
is "the limit is in CPU 0's file" "$(qos 0)" 5
is "C2 of CPU 1 is disabled by its file" "$(cat $cpu/cpu1/cpuidle/state2/disable)" 1
has "explain says what the window lacks" "$(cpuidlectl explain 0)" "cpuidle_policy.ko"

# ---- verify, by the kernel's own counters
cpuidlectl verify >/run/verify
is "verify finds no difference" $? 0
has "and has seen that C2 is not entered" "$(grep 'usage' /run/verify)" "C2 not entered in 1"
write_unseen cpu1/cpuidle/state2/disable 0
is "a state is switched on behind the daemon's back" "$(cat $cpu/cpu1/cpuidle/state2/disable)" 0
cpuidlectl verify --interval 2s >/run/verify
is "verify finds a difference" $? 3
sed 's/^/# verify: /' /run/verify
has "in the file" "$(grep '^differs' /run/verify)" "CPUs 1: state2/disable: found 0, should be 1"
has "and in the counters" "$(grep '^differs' /run/verify)" "CPUs 1: state2/usage: C2 entered"
cpuidlectl reload >/dev/null
until_true disabled 1
cpuidlectl verify >/run/verify
is "after a reload there is none" $? 0
listen

# ---- the module comes
insmod /cpuidle_policy.ko
until_true owned_by cpuidled
is "the daemon takes the lease of a module that came later" "$(owner)" cpuidled
until_true file_is 0 0
is "the limit has moved out of CPU 0's file" "$(qos 0)" 0
is "and C2 of CPU 1 out of its own" "$(cat $cpu/cpu1/cpuidle/state2/disable)" 0
until_true backend_told "cpuidle_policy 1 on acpi_idle"
has "monitor tells of the module" "$(told backend)" "cpuidle_policy 1 on acpi_idle"
has "and why the files changed" "$(told applied)" '"why":"cpuidle_policy is there"'
kept caps | sed 's/^/# caps: /'
kept config | sed 's/^/# config: /'
kept qos | sed 's/^/# qos: /'
has "the kernel keeps the limit" "$(kept qos)" 5000
is "C2 is entered on neither" "$(entered 0 2) $(entered 1 2)" "no no"
is "C1 is on both" "$(entered 0 1) $(entered 1 1)" "yes yes"
cpuidlectl status >/run/status
sed 's/^/# status: /' /run/status
has "status names the module" "$(cat /run/status)" "cpuidle_policy 1 on acpi_idle"
has "and both backends" "$(cat /run/status)" "set by module, sysfs"
cpuidlectl plan | sed 's/^/# plan: /'
has "the plan has the window in effect" "$(cpuidlectl plan --json --cpus 0)" '"effective": "window"'
cpuidlectl verify >/run/verify
is "verify finds no difference" $? 0
has "and has asked the kernel" "$(cat /run/verify)" "cpuidle_policy"
has "the limit is the module's" "$(cat /run/verify)" "CPUs 0: limit: requested 5us by the policy, effective 5us in cpuidle_policy"
has "C2 is not entered, by limit or by veto" "$(grep '^ok.*usage' /run/verify)" "CPUs 0-1: usage: C2 not entered in 1"

# ---- what others ask for is added to, not written over
echo 100 >$cpu/cpu0/power/pm_qos_resume_latency_us
sleep 1
is "somebody's looser value stays in the file" "$(qos 0)" 100
is "and loosens nothing" "$(entered 0 2)" no
echo 0 >$cpu/cpu0/power/pm_qos_resume_latency_us

# ---- system calls of an apply
trace=/sys/kernel/tracing
echo "common_pid == $pid && (id == 44 || id == 45)" >$trace/events/raw_syscalls/sys_enter/filter

# calls COMMAND: how often the daemon talks to the kernel's module for it. The socket for requests is the
# one that something is sent on (44); news are read (45) from the other.
calls()
{
	: >$trace/trace
	echo 1 >$trace/events/raw_syscalls/sys_enter/enable
	"$@" >/run/set 2>&1 || echo "failed: $(cat /run/set)"
	echo 0 >$trace/events/raw_syscalls/sys_enter/enable
	[ -n "$socket" ] || socket=$(grep -o 'NR 44 ([0-9a-f]*' $trace/trace | head -n 1 | sed 's/.*(//')
	grep -c "NR 4[45] ($socket," $trace/trace
}

socket=
is "calls for a shorter limit and a state less" \
	"$(calls cpuidlectl set --cpus 0-1 LatencyLimit=1us DisableStates=C1)" 2
socket=$(grep -o 'NR 44 ([0-9a-f]*' $trace/trace | head -n 1 | sed 's/.*(//')
is "calls for the way back" "$(calls cpuidlectl set --reset)" 4
is "calls for what stands already" "$(calls cpuidlectl reload)" 0

# ---- reload: the other way round
policy <<'END'
[Profile less]
DisableStates=C2
[Group zero]
CPUs=0
Profile=less
END
cpuidlectl reload >/dev/null
is "after a reload C2 is CPU 1's alone" "$(entered 0 2) $(entered 1 2)" "no yes"
one
cpuidlectl reload >/dev/null

# ---- there is one owner, and one daemon
/kmodctl try cpus=0 window=0x2 >/run/try 2>&1
has "another owner is refused with ours named" "$(cat /run/try)" "held by cpuidled (pid $pid)"
cpuidled >/run/second 2>&1
is "a second daemon's exit status" $? 4
has "it names the first" "$(cat /run/second)" "(pid $pid)"

# ---- kill -9: nothing is left, though nobody restores
sysfs_before="$(qos 0) $(qos 1) $(cat $cpu/cpu1/cpuidle/state2/disable)"
kill -9 "$pid"
until_true gone
is "killed: the lease is nobody's" "$(owner)" ""
is "no latency request is left" "$(kept qos | grep -c 5000)" 0
is "no row is left" "$(kept config | grep -c 'window 0x2\|off 0x4')" 0
is "the files are as they were" "$(qos 0) $(qos 1) $(cat $cpu/cpu1/cpuidle/state2/disable)" "$sysfs_before"
is "C2 is entered again on both" "$(entered 0 2) $(entered 1 2)" "yes yes"
start
more=$(($(anonymous) - without))
is "a successor has the lease" "$(owner)" cpuidled
is "the module costs it less than 32 kB of memory ($more of $without)" \
	"$([ $more -lt 32 ] && echo yes)" yes
is "and C2 is entered on neither" "$(entered 0 2) $(entered 1 2)" "no no"

# ---- the module goes under the daemon
listen
rmmod cpuidle_policy
is "it can be unloaded" $? 0
until_true file_is 0 5
is "the limit is in CPU 0's file again" "$(qos 0)" 5
is "C2 of CPU 1 in its own" "$(cat $cpu/cpu1/cpuidle/state2/disable)" 1
is "C2 is entered on neither" "$(entered 0 2) $(entered 1 2)" "no no"
cpuidlectl status >/run/status
has "status says so" "$(cat /run/status)" "set by sysfs"
has "monitor as well" "$(told backend)" '"what":"backend"'
has "and why the files changed" "$(told applied | grep "none -> 5us")" '"why":"cpuidle_policy '
has "the daemon is active" "$(cat /run/status)" ACTIVE

# ---- of another version
insmod /cpuidle_policy2.ko
sleep 2
cpuidlectl status >/run/status
has "another version is refused" "$(cat /run/status)" "speaks version 2 of its contract; this daemon speaks version 1"
is "the files go on" "$(qos 0)" 5
rmmod cpuidle_policy

# ---- back again, and somebody else has it first
insmod /cpuidle_policy.ko
until_true owned_by cpuidled
until_true file_is 0 0
is "it is taken again" "$(owner) $(qos 0)" "cpuidled 0"
stop
is "stopped: the files are as they were" "$(qos 0) $(cat $cpu/cpu1/cpuidle/state2/disable)" "0 0"
has "the driver's table is put back at once" "$(kept caps)" "attached 0"
is "C2 is entered again on both" "$(entered 0 2) $(entered 1 2)" "yes yes"
mkfifo /run/hold
/kmodctl hold cpus=1 window=0x2 </run/hold >/run/held 2>&1 &
holder=$!
exec 3>/run/hold
sleep 1
start
has "status names the other owner" "$(cat /run/status)" "the lease is held by kmodctl"
is "the files are used meanwhile" "$(qos 0)" 5
kill "$holder"
exec 3>&-
until_true owned_by cpuidled
until_true file_is 0 0
is "once he is gone it is ours" "$(owner) $(qos 0)" "cpuidled 0"
stop
rmmod cpuidle_policy
is "and everything can go" $? 0
sed 's/^/# log: /' $log | tail -n 40
echo "1..$count"
