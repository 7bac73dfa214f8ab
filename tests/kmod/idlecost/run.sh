#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What bench/run idle-path boots: the rounds of idlecost.ko, without and with the module and its
# modes. One case each, "NAME KIND: WORDS"; see main.c. A case is good when most of the rounds were
# whole, and enough of them agreed.
cpu=/sys/devices/system/cpu
run=/sys/module/idlecost/parameters/run
count=0
said=0

say()
{
	count=$((count + 1))
	[ "$1" = 0 ] && echo "ok $count - $2" || echo "not ok $count - $2"
}

# only NAME: the user's own disable files leave this state alone
only()
{
	for dir in "$cpu"/cpu0/cpuidle/state*; do
		[ "$(cat "$dir/name")" = "$1" ]
		echo $? >"$dir/disable"
	done
}

# good WORD VALUE ...: a distance is agreed on by half of the rounds, the least one by a twentieth
good()
{
	[ "$2" -ge 100 ] || return 1
	rounds=$2
	shift 4
	while [ $# -gt 1 ]; do
		case $1 in
		path) [ "${2#*/}" -gt $((rounds / 2)) ] || return 1 ;;
		*) [ "${2#*/}" -ge 3 ] || return 1 ;;
		esac
		shift 2
	done
}

# measure NAME KIND ...
measure()
{
	name=$1
	shift
	for kind in "$@"; do
		echo "$kind" >$run
		words=$(cat $run)
		# shellcheck disable=SC2086 # words
		good $words
		say $? "$name $kind: $words"
	done
}

# set_row ROW: has the holder of the lease set it
set_row()
{
	[ "$said" != 0 ] || answered
	echo "$1" >&3
	answered
	[ "$(tail -n 1 /tmp/said)" = "0 Success" ] || say 1 "$1: $(tail -n 1 /tmp/said)"
}

answered()
{
	said=$((said + 1))
	while [ "$(wc -l </tmp/said)" -lt $said ]; do
		usleep 10000
	done
}

# load MODULE: and somebody who sets rows, and whose hook stays when none is set
load()
{
	insmod "$1"
	: >/tmp/said
	said=0
	mkfifo /tmp/rows
	/kmodctl hold -grace 600000 </tmp/rows >/tmp/said &
	holder=$!
	exec 3>/tmp/rows
}

unload()
{
	rmmod cpuidle_policy
	kill $holder
	wait $holder 2>/dev/null
	exec 3>&-
	rm /tmp/rows
}

intel_idle()
{
	for state in POLL C1; do
		only $state
		measure $state store pended wait
	done
	load /cpuidle_policy.ko
	measure loaded store
	set_row "cpus=0 window=2"
	measure window store pended wait
	set_row "cpus=0 window=0"
	measure hooked store wait
	set_row "cpus=0 sti=2"
	measure sti-mwait store pended wait
	set_row "cpus=0 sti=0 off=8"
	measure states-off store
	set_row "cpus=0 off=0 bcast=avoid"
	measure avoid store
	set_row "cpus=0 bcast=auto count=1"
	measure count store
	set_row "cpus=0 count=0"
	c0
	only C1
	unload
	measure again store
	[ ! -e /cpuidle_policy_slow.ko ] || slow
}

# UMWAIT in POLL's place, in C1's, and in a state of its own. 1 is C0.1, 2 is C0.2.
c0()
{
	for depth in 1 2; do
		set_row "cpus=0 c1=$depth"
		measure C1-C0.$depth store wait
		set_row "cpus=0 c1=0 row=$depth"
		only C0.$depth
		measure row-C0.$depth store wait
		only POLL
		set_row "cpus=0 row=0 poll=$depth"
		measure POLL-C0.$depth store wait
		set_row "cpus=0 poll=0"
		only C1
	done
}

# The same module with 16 instructions more in its way: does this count see them?
slow()
{
	load /cpuidle_policy_slow.ko
	set_row "cpus=0 window=2"
	set_row "cpus=0 window=0"
	measure slow store
	unload
}

# Without a driver the kernel halts, and cpuidle's own bookkeeping is missing, too.
no_driver()
{
	measure none pended wait
	load /cpuidle_policy.ko
	measure loaded pended wait
	set_row "own=1"
	only HALT
	measure own pended wait
	set_row "cpus=0 window=2"
	measure own-window pended wait
	set_row "cpus=0 window=0"
	measure own-hooked pended wait
	unload
	measure again pended wait
}

# "tainted" is told once, and not amid a case
level=$(cut -f 1 /proc/sys/kernel/printk)
echo 1 >/proc/sys/kernel/printk
insmod /idlecost.ko
echo "$level" >/proc/sys/kernel/printk
echo 0 >$cpu/umwait_control/max_time
measure instruction mwait umwait
if [ "$(cat $cpu/cpuidle/current_driver)" = none ]; then
	no_driver
else
	intel_idle
fi
rmmod idlecost
echo "1..$count"
