#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at every step of an apply, a switch and a restore: the next run always leads back byte for byte.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

policy a '[Daemon]' 'DefaultProfile=a' 'GlobalLatencyLimit=50us' 'UmwaitC02=off' 'UmwaitMaxTime=0' '[Profile a]' 'LatencyLimit=20us' 'HaltPoll=70us' 'DisableStates=C1E'
policy b '[Daemon]' 'DefaultProfile=b' 'GlobalLatencyLimit=30us' 'UmwaitMaxTime=400' '[Profile b]' 'LatencyLimit=none' 'HaltPoll=300us' 'EnableStates=C1' 'DisableStates=C6'
policy bad '[Daemon]' 'DefaultProfile=nobody'

# killed CALL N ARGS...: runs the daemon until it enters its Nth CALL, and kills it there. False when there was no Nth.
killed()
{
	local status=0
	strace -o /dev/null -e trace="$1" -e inject="$1:signal=SIGKILL:when=$2" \
		"$daemon" --no-bus "${@:3}" >/dev/null 2>&1 || status=$?
	[ "$status" -gt 128 ]
}

# first CALL ARGS...: the number of the first CALL that is about writing; most of openat is only reading.
first()
{
	local n
	[ "$1" = openat ] || { echo 1; return; }
	strace -o "$T/calls" -e trace=openat "$daemon" --no-bus "${@:2}" >/dev/null 2>&1
	n=$(grep -n -m 1 O_WRONLY "$T/calls" | cut -d: -f1)
	echo "${n:?no file was opened for writing}"
}

restart_and_stop()
{
	start "$@" && stop
}

# walk CALL BACK PREPARE ARGS...: kills at each CALL of a run with ARGS, after PREPARE has made $T/tree; then BACK is
# the way back, and the tree has to be as PREPARE's first tree was.
walk()
{
	local call=$1 back=$2 prepare=$3 from n
	shift 3
	$prepare || return 1
	from=$(first "$call" "$@") || return 1
	n=$((from - 1))
	while :; do
		n=$((n + 1))
		$prepare || return 1
		killed "$call" "$n" "$@" || break
		$back || { echo "after $call $n: the way back failed"; cat "$T/log"; return 1; }
		state >"$T/after"
		cmp -s "$T/before" "$T/after" || { echo "after $call $n:"; diff "$T/before" "$T/after"; return 1; }
	done
	# Nothing was shown if it was never killed.
	echo "$((n - from)) kills at $call"
	[ $((n - from)) -ge "$least" ]
}

# Three CPUs with a default-off state in the middle of their table: each kind of file, few of each.
fresh()
{
	tree dnv0 3
	umwait
	haltpoll
	state >"$T/before"
}

applied()
{
	fresh
	"$daemon" --root "$T/tree" --policy "$T/a.conf" --once 2>/dev/null
}

back_by_restart() { restart_and_stop --root "$T/tree" --policy "$T/a.conf"; }
back_by_other_policy() { restart_and_stop --root "$T/tree" --policy "$T/b.conf"; }
back_by_restore() { "$daemon" --root "$T/tree" --restore; }
# A policy that is refused lets go of everything, too.
back_by_refusal()
{
	"$daemon" --no-bus --root "$T/tree" --policy "$T/bad.conf"
	[ $? = 3 ]
}

host_restart() { restart_and_stop --policy "$T/a.conf"; }
host_restore() { "$daemon" --restore; }
host_walk()
{
	local call=$1 back=$2 from n
	host_state >"$T/host"
	from=$(first "$call" --policy "$T/a.conf" --once) || return 1
	"$daemon" --restore
	n=$((from - 1))
	while :; do
		n=$((n + 1))
		killed "$call" "$n" --policy "$T/a.conf" --once || break
		$back || { echo "after $call $n: the way back failed"; cat "$T/log"; return 1; }
		host_state >"$T/host.after"
		diff "$T/host" "$T/host.after" || { echo "after $call $n"; return 1; }
	done
	"$daemon" --restore
	echo "$((n - from)) kills at $call"
	[ $((n - from)) -ge 3 ]
}

if can_trace; then
	args=(--root "$T/tree" --policy "$T/a.conf" --once)
	least=8
	for call in write openat; do
		check "B3-27: apply killed at each $call, then --restore" walk $call back_by_restore fresh "${args[@]}"
	done
	check "B3-27: apply killed at each write, then restart and stop" walk write back_by_restart fresh "${args[@]}"
	check "apply killed at each write, then another policy and stop" walk write back_by_other_policy fresh "${args[@]}"
	check "apply killed at each write, then a refused policy" walk write back_by_refusal fresh "${args[@]}"
	args=(--root "$T/tree" --policy "$T/b.conf" --once)
	check "switch killed at each write, then --restore" walk write back_by_restore applied "${args[@]}"
	check "switch killed at each write, then restart and stop" walk write back_by_restart applied "${args[@]}"
	args=(--root "$T/tree" --restore)
	check "restore killed at each write, then --restore" walk write back_by_restore applied "${args[@]}"
	least=1
	check "restore killed at each unlinkat, then --restore" walk unlinkat back_by_restore applied "${args[@]}"
	args=(--root "$T/tree" --policy "$T/b.conf" --once)
	check "switch killed at each renameat, then --restore" walk renameat back_by_restore applied "${args[@]}"
	if host_wanted; then
		for back in host_restart host_restore; do
			for call in write openat; do
				check "this machine: apply killed at each $call, $back" host_walk $call $back
			done
		done
	else
		skip "this machine: apply killed at each write" "$why"
	fi
else
	skip "kill -9 at every step" "$why"
fi
finish
