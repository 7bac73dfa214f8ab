#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The real daemon on a recorded tree: start, reload, stop, refusals, faults. As root and as a user alike.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

policy a '[Daemon]' 'DefaultProfile=a' 'GlobalLatencyLimit=50us' '[Profile a]' 'LatencyLimit=20us' 'DisableStates=C1E'
policy b '[Daemon]' 'DefaultProfile=b' '[Profile b]' 'LatencyLimit=30us'
policy bad '[Daemon]' 'DefaultProfile=nobody' '[Profile x]' 'LatencyLimit=n/a' 'Colour=red'
args=(--root "$T/tree" --policy "$T/now.conf")

fresh()
{
	tree dnv0
	cp "$T/a.conf" "$T/now.conf"
	state >"$T/before"
}

unchanged()
{
	state >"$T/after"
	diff "$T/before" "$T/after"
}

holds()
{
	[ "$(cat "$(qos "$1")")" = "$2" ] || { echo "CPU $1: $(cat "$(qos "$1")") instead of $2"; return 1; }
}

sets_and_restores()
{
	fresh
	start "${args[@]}" || { cat "$T/log"; return 1; }
	# Ours where it is stricter; what others asked for where that is.
	holds 0 20 && holds 1 5 && holds 2 n/a && holds 3 20 || return 1
	[ "$(od -An -td4 -N4 "$T/tree/dev/cpu_dma_latency")" -eq 50 ] || return 1
	[ "$(cat "$T/tree/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")" = 1 ] || return 1
	[ -s "$T/tree/run/cpuidled/restore" ] || return 1
	stop "$1" && unchanged && [ ! -e "$T/tree/run/cpuidled/restore" ] && logged 'own settings again'
}

once_and_restore()
{
	fresh
	"$daemon" "${args[@]}" --once && holds 0 20 && holds 1 5 || return 1
	"$daemon" --root "$T/tree" --restore && unchanged || return 1
	# Nothing is left to do, and that is fine.
	"$daemon" --root "$T/tree" --restore && unchanged
}

restore_keeps_foreign_values()
{
	fresh
	"$daemon" "${args[@]}" --once || return 1
	echo 7 >"$(qos 3)"
	echo 0 >"$(qos 5)"
	"$daemon" --root "$T/tree" --restore || return 1
	holds 3 7 && holds 5 0 && holds 0 0
}

restore_tries_every_file()
{
	local status=0
	fresh
	"$daemon" "${args[@]}" --once || return 1
	mv "$(qos 3)" "$T/kept"
	mkdir "$(qos 3)"
	"$daemon" --root "$T/tree" --restore || status=$?
	rmdir "$(qos 3)"
	mv "$T/kept" "$(qos 3)"
	# The file was not readable as one of ours, so it counts as gone; all others are done.
	holds 0 0 && holds 11 0 && [ "$status" -le 1 ]
}

bad_policy_at_start()
{
	local status=0
	fresh
	cp "$T/bad.conf" "$T/now.conf"
	"$daemon" --no-bus "${args[@]}" 2>"$T/log" || status=$?
	[ $status = 3 ] && unchanged && logged 'now.conf:2: error' && logged 'now.conf:4: error' &&
		logged 'now.conf:5: warning' && logged 'nothing is applied'
}

bad_policy_with_leftovers()
{
	local status=0
	fresh
	"$daemon" "${args[@]}" --once || return 1
	cp "$T/bad.conf" "$T/now.conf"
	"$daemon" --no-bus "${args[@]}" || status=$?
	[ $status = 3 ] && unchanged
}

reload_takes_a_new_policy()
{
	fresh
	start "${args[@]}" || return 1
	cp "$T/b.conf" "$T/now.conf"
	kill -HUP "$pid"
	await 'reload done' || return 1
	holds 0 30 && holds 1 5 && holds 3 30 || return 1
	[ "$(cat "$T/tree/sys/devices/system/cpu/cpu0/cpuidle/state2/disable")" = 0 ] || return 1
	stop && unchanged
}

reload_of_a_bad_policy()
{
	fresh
	start "${args[@]}" || return 1
	state >"$T/governed"
	cp -a "$T/tree/run/cpuidled/restore" "$T/record"
	cp "$T/bad.conf" "$T/now.conf"
	kill -HUP "$pid"
	await 'reload refused' || return 1
	logged 'now.conf:2: error' && logged 'now.conf:4: error' || return 1
	state | diff "$T/governed" - && cmp "$T/record" "$T/tree/run/cpuidled/restore" || return 1
	[ ! "$T/record" -ot "$T/tree/run/cpuidled/restore" ] || return 1
	# It still governs, by the policy it had.
	echo 0 >"$(qos 4)"
	await 'CPU 4: pm_qos_resume_latency_us none -> 20us' && stop && unchanged
}

# An equal policy, and one that reads otherwise and means the same: nothing is written, no state file is opened.
equal_reload()
{
	local from
	fresh
	wrap="strace -D -o $T/trace -e trace=%file,write,pwrite64,writev" start "${args[@]}" || return 1
	printf '# the same\n' | cat - "$T/a.conf" >"$T/now.conf"
	from=$(wc -l <"$T/trace")
	kill -HUP "$pid"
	await 'reload done, no change' || return 1
	tail -n +$((from + 1)) "$T/trace" >"$T/reload"
	stop || return 1
	# Lines on stderr are not writes to anything governed.
	! grep -E 'write[^(]*\((1|[3-9]|[0-9]{2,}),' "$T/reload" && ! grep -E 'pm_qos_resume|/disable|O_WRONLY|O_RDWR|rename|unlink' "$T/reload" &&
		grep -q now.conf "$T/reload" && unchanged
}

# Two policies with the same result in turns (a state list by name and by class).
alternating()
{
	policy c '[Daemon]' 'DefaultProfile=c' 'GlobalLatencyLimit=50us' '[Profile c]' 'LatencyLimit=0.020ms' 'DisableStates=c1e'
	local from i
	fresh
	wrap="strace -D -o $T/trace -e trace=openat" start "${args[@]}" || return 1
	from=$(wc -l <"$T/trace")
	for i in c a c a; do
		cp "$T/$i.conf" "$T/now.conf"
		kill -HUP "$pid"
		await 'reload done, no change' || return 1
	done
	tail -n +$((from + 1)) "$T/trace" >"$T/reload"
	stop && ! grep -E 'O_WRONLY|O_RDWR' "$T/reload" && grep -q now.conf "$T/reload"
}

second_daemon()
{
	local status=0 first
	fresh
	start "${args[@]}" || return 1
	first=$pid
	"$daemon" --no-bus "${args[@]}" 2>"$T/second" || status=$?
	cat "$T/second"
	[ $status = 4 ] && grep -q "another cpuidled (pid $first)" "$T/second" || return 1
	status=0
	"$daemon" --root "$T/tree" --restore 2>"$T/second" || status=$?
	[ $status = 4 ] && grep -q "$first" "$T/second" || return 1
	holds 0 20 && stop && unchanged
}

usage_errors()
{
	local a status
	for a in --what extra '--restore --check' '--check --once' '--root'; do
		status=0
		# shellcheck disable=SC2086
		"$daemon" $a || status=$?
		[ $status = 2 ] || { echo "$a: $status"; return 1; }
	done
	"$daemon" --help | grep -q -- --restore && "$daemon" --version | grep -q '^cpuidled [0-9]'
}

check_only()
{
	local status=0
	fresh
	"$daemon" --check "${args[@]}" && unchanged && [ ! -e "$T/tree/run" ] || return 1
	cp "$T/bad.conf" "$T/now.conf"
	"$daemon" --check "${args[@]}" || status=$?
	[ $status = 3 ] && unchanged
}

cannot_run_here()
{
	local status=0
	"$daemon" --no-bus --root "$T/nothing" --policy "$T/a.conf" || status=$?
	[ $status = 4 ] || return 1
	mkdir -p "$T/empty"
	status=0
	"$daemon" --no-bus --root "$T/empty" --policy "$T/a.conf" || status=$?
	[ $status = 4 ]
}

# Each write of an apply fails in turn: all of it stands, or nothing does, and the exit status says which.
failing_writes()
{
	local n=0 status seen=0 error=$1
	tree dnv0 3
	cp "$T/a.conf" "$T/now.conf"
	state >"$T/before"
	"$daemon" "${args[@]}" --once || return 1
	state >"$T/applied"
	while :; do
		n=$((n + 1))
		tree dnv0 3
		status=0
		strace --seccomp-bpf -f -o "$T/trace" -e trace=write -e inject="write:error=$error:when=$n" \
			"$daemon" "${args[@]}" --once 2>"$T/log" || status=$?
		grep -q INJECTED "$T/trace" || break
		state >"$T/after"
		case $status in
		0) cmp "$T/applied" "$T/after" || return 1 ;;
		1) cmp "$T/before" "$T/after" && logged 'cannot write' || return 1; seen=$((seen + 1)) ;;
		*) echo "write $n: $status"; return 1 ;;
		esac
	done
	echo "$seen failures"
	[ $seen -ge 6 ]
}

# Without a record of what was before nothing is written at all.
no_record()
{
	local status=0
	fresh
	strace -o "$T/trace" -P "$T/tree/run/cpuidled/restore.new" -e trace=write -e inject=write:error=ENOSPC \
		"$daemon" "${args[@]}" --once 2>"$T/log" || status=$?
	[ $status = 1 ] && unchanged && logged 'nothing is changed without a record' && ! ls "$T/tree/run/cpuidled/restore.new"
}

no_run_directory()
{
	local status=0
	fresh
	strace -o "$T/trace" -e trace=mkdirat -e inject=mkdirat:error=EROFS "$daemon" "${args[@]}" --once 2>"$T/log" || status=$?
	[ $status = 4 ] && unchanged && logged 'cannot take the lock'
}

# A CPU file that is gone by the time it is written: the host is read again, the rest is governed.
vanishing_cpu()
{
	fresh
	start "${args[@]}" || return 1
	rm -r "$T/tree/sys/devices/system/cpu/cpu11/power"
	cp "$T/b.conf" "$T/now.conf"
	kill -HUP "$pid"
	await 'reload (done|failed)' || return 1
	logged 'reload done' && holds 0 30 && holds 10 30 || return 1
	stop && holds 0 0 && holds 10 0
}

# A write that keeps failing: DEGRADED, tried again, ACTIVE once it works.
degraded_and_back()
{
	fresh
	wrap="strace -D -o $T/trace -e trace=write -e inject=write:error=EIO:when=8" start "${args[@]}" || return 1
	logged '^DEGRADED' && logged 'put back' || return 1
	await '^ACTIVE' && holds 0 20 && holds 11 20 && stop && unchanged
}

damaged_record()
{
	fresh
	"$daemon" "${args[@]}" --once || return 1
	sed -i 's/^disable.*/disable all of it/' "$T/tree/run/cpuidled/restore"
	"$daemon" --root "$T/tree" --restore 2>"$T/log"
	logged 'damaged' && holds 0 0 && holds 3 100
}

check "sets, verifies and restores on SIGTERM" sets_and_restores TERM
check "the same on SIGINT" sets_and_restores INT
check "--once leaves a record that --restore follows" once_and_restore
check "B3-26: --restore leaves what others wrote since" restore_keeps_foreign_values
check "B3-28: --restore tries every file" restore_tries_every_file
check "bad policy at start: all errors, exit 3, nothing applied" bad_policy_at_start
check "bad policy at start: leftovers are restored" bad_policy_with_leftovers
check "SIGHUP takes a new policy" reload_takes_a_new_policy
check "SIGHUP with a bad policy changes nothing" reload_of_a_bad_policy
check "second daemon is refused with the pid, exit 4" second_daemon
check "usage" usage_errors
check "--check changes nothing" check_only
check "no such root, no CPUs: exit 4" cannot_run_here
check "CPU vanishing under a reload" vanishing_cpu
check "damaged record: what can be read is used" damaged_record
if can_trace; then
	check "equal reload writes nothing and opens no state file" equal_reload
	check "B3-15: two policies with one result in turns write nothing" alternating
	check "B3-31: each write fails once with EIO, which the exit status tells" failing_writes EIO
	check "no record, no apply (ENOSPC)" no_record
	check "no run directory, no apply (EROFS)" no_run_directory
	check "DEGRADED, retried, ACTIVE" degraded_and_back
else
	skip "equal reload, failing writes, no record" "$why"
fi
finish
