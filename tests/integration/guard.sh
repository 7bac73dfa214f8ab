#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The residency guard and Adapt= in the real daemon, on a recorded Zen server whose counters a program moves: a state is taken
# away, told of and given back; what it costs, and that it costs nothing when nobody asks for it.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host milan0
cpu=$H/sys/devices/system/cpu
c2=cpuidle/state2
disable=$cpu/cpu0/$c2/disable
before=$(cat "$cpu"/cpu*/cpuidle/state*/disable | md5sum)

guarded()
{
	printf '[Daemon]\nDefaultProfile=p\n[Profile p]\nResidencyGuard=%s\n' "$1" | policy
}

# churn SECONDS CPUS: C2 entered 76 000 times a second, almost all of them too early
churn()
{
	python3 "$top/tests/integration/counts.py" "$H" "$1" 2 "$2" 0.05 3800 48000 3790 &
	pids+=($!)
}

end_churn()
{
	kill "${pids[-1]}" 2>/dev/null || :
	wait "${pids[-1]}" 2>/dev/null || :
}

holds()
{
	[ "$(cat "$1")" = "$2" ]
}

all_hold()
{
	! grep -vqx "$1" "$cpu"/cpu{0..31}/$c2/disable
}

all_as_before()
{
	[ "$(cat "$cpu"/cpu*/cpuidle/state*/disable | md5sum)" = "$before" ]
}

# look_for SECONDS: the daemon's system calls meanwhile, in $T/calls
look_for()
{
	timeout "$1" strace -f -qq -y -o "$T/calls" -p "$daemon_pid" || true
}

count()
{
	grep -c "$1" "$T/calls"
}

costs_nothing_when_off()
{
	look_for 2
	cat "$T/calls"
	# What waits all the time is all there is.
	[ "$(grep -vc epoll_wait "$T/calls")" = 0 ] && [ "$(wc -l <"$T/calls")" -le 1 ]
}

# Looks at a quiet machine: one wake-up each, one counter of each fourth CPU, three more of an eighth of these.
costs_little_when_quiet()
{
	local looks reads
	look_for 5
	looks=$(count 'epoll_wait.*= 1')
	reads=$(count 'pread64(.*cpuidle')
	echo "looks $looks, counters $reads, calls $(wc -l <"$T/calls")"
	[ "$looks" -ge 4 ] && [ "$looks" -le 6 ] || return 1
	[ "$reads" -ge $((looks * 32 - 32)) ] && [ "$reads" -le $((looks * 32 + 3 * 128)) ] || return 1
	# Nothing is written, nothing is opened to be written, no other file is read.
	! grep -E 'O_WRONLY|O_RDWR' "$T/calls" && ! grep 'openat' "$T/calls" | grep -v '/cpuidle/state2/'
}

# The pressure of tasks is one file more, where there is one.
adapt_costs_little()
{
	local looks reads
	look_for 3
	looks=$(count 'epoll_wait.*= 1')
	reads=$(count 'pread64(.*cpuidle')
	echo "looks $looks, counters $reads, calls $(wc -l <"$T/calls")"
	[ "$looks" -ge 2 ] && [ "$looks" -le 4 ] && [ "$reads" -ge $(((looks - 1) * 128)) ] && [ "$reads" -le $(((looks + 1) * 128)) ] &&
		[ "$(wc -l <"$T/calls")" -le $(((looks + 1) * (128 + 16))) ]
}

is_told()
{
	says 0 'C2 is off on 1 of' ctl --socket "$H/run/cpuidled/bus" explain 0 && says 0 '1 state off; 1 veto' ctl --root "$H" status &&
		says 0 'residency guard: entered too early too often' ctl --socket "$H/run/cpuidled/bus" plan --cpus 0 || return 1
	json explain ctl --socket "$H/run/cpuidled/bus" explain 0 --json && json status ctl --root "$H" status --json &&
		value '"1 veto" in d["guard"]'
}

said()
{
	grep -E "$1" "$T/daemon.log"
}

is_verified()
{
	status 0 ctl --root "$H" verify
}

# event WHAT DETAIL WHY (regular expressions): monitor has such a line
event()
{
	python3 -c 'import json, re, sys
want = sys.argv[1:]
for d in map(json.loads, sys.stdin):
    if d["what"] == want[0] and re.search(want[1], d["detail"]) and re.search(want[2], d["why"]):
        sys.exit(0)
sys.exit(f"no event {want}")' "$@" <"$T/events"
}

gone()
{
	! kill -0 "$daemon_pid"
}

killed_and_restored()
{
	kill -9 "$daemon_pid"
	wait_for gone
	holds "$disable" 1 && "$B/sbin/cpuidled" --root "$H" --restore && all_as_before
}

guarded off
start_daemon
ctl --socket "$H/run/cpuidled/bus" monitor --json >"$T/events" 2>/dev/null &
pids+=($!)
if can_trace; then
	check "off: two seconds without one system call" costs_nothing_when_off
else
	skip "off: no system call" "$why"
fi
check "off: status has no word of it" says 0 '"guard": "off"' ctl --root "$H" status --json
churn 1.5 0
sleep 1.7
check "off: nothing is done" holds "$disable" 0
guarded auto
check "auto: reload" status 0 ctl --root "$H" reload
check "auto: status tells how many CPUs are looked at" says 0 'looks at 128 CPUs; 0 states off' ctl --root "$H" status
churn 4 0
check "a bad run: C2 is taken away" wait_for holds "$disable" 1
check "the log says what was seen" wait_for said 'residency guard: CPU 0: C2 was left before it was worth it \(60us\) [0-9]+ times in .*, 9[0-9] % of all entries.*; off for 10s, C1 instead'
check "explain, plan and status tell it" is_told
check "monitor as well, with the numbers" wait_for event guard '^CPU 0: C2 was left before .* [0-9]+ times in .* % of all entries' '^residency guard$'
check "and why the file was written" wait_for event applied '^CPU 0: state2/disable 0 -> 1' '^residency guard$'
check "other CPUs keep it" holds "$cpu/cpu1/$c2/disable" 0
check "verify finds no difference" is_verified
check "the run is over: C2 is given back" wait_for holds "$disable" 0
check "the log says what came of it" wait_for said 'CPU 0: C2 is on again after [0-9.]+s, since the work has calmed down: [1-9][0-9]* entries of C1 a second meanwhile, [1-9][0-9]* early ones of C2 before'
if can_trace; then
	sleep 8.5 # looks
	check "quiet: one wake-up a second, few counters" costs_little_when_quiet
else
	skip "quiet: few counters" "$why"
fi
churn 20 0-31
check "another one: C2 is taken away from many CPUs" wait_for all_hold 1
check "in one line" wait_for said 'CPUs [0-9,-]+: C2 was left before'
check "for twice as long where it had come back" wait_for said 'CPU 0: C2 was left before .*; off for 20s'
end_churn
check "killed: the record leads back" killed_and_restored
rm "$cpu"/cpu*/cpuidle/state*/above
start_daemon
ctl --socket "$H/run/cpuidled/bus" monitor --json >"$T/events" 2>/dev/null &
pids+=($!)
churn 4 0
check "a kernel without \"above\": caught by the mean" wait_for holds "$disable" 1
check "and it is said" wait_for said 'by the mean more than 75 % of all entries'
check "in status as well" says 0 'no counter "above" on 128 of them' ctl --root "$H" status
end_churn
policy <<'END'
[Daemon]
DefaultProfile=p
[Profile p]
Adapt=10us
[Profile together]
Base=p
AdaptScope=group
[Group pool]
CPUs=8-11
Profile=together
END
check "Adapt=10us: reload" status 0 ctl --root "$H" reload
check "Adapt: status tells it, and the guard is gone" says 0 'adapts 128 CPUs; 0 busy' ctl --root "$H" status
if can_trace; then
	check "Adapt: one counter of each CPU a second" adapt_costs_little
else
	skip "Adapt: one counter of each CPU a second" "$why"
fi
churn 3 9
churn 3 5
check "Adapt: a busy CPU has the shorter limit" wait_for holds "$cpu/cpu5/power/pm_qos_resume_latency_us" 10
check "Adapt: its neighbour has none" holds "$cpu/cpu6/power/pm_qos_resume_latency_us" 0
check "Adapt: the log has the numbers" wait_for said 'Adapt: CPU 5: [0-9]+ wake-ups a second from states above 10us.*; limit 10us for 10s or longer'
check "Adapt: monitor as well" wait_for event adapt '^CPU 5: [0-9]+ wake-ups a second from states above 10us.*; limit 10us for 10s or longer' '^Adapt=$'
check "Adapt: and why the limit was written" wait_for event applied '^CPU 5: pm_qos_resume_latency_us none -> 10us' '^Adapt=$'
check "Adapt: explain tells it" says 0 '10us while the CPU wakes up often, which holds on 1 of 1 CPUs' ctl --socket "$H/run/cpuidled/bus" explain 5
check "Adapt: and where the limit comes from" says 0 'by Adapt= of profile p (10us)' ctl --socket "$H/run/cpuidled/bus" explain 5
pool_holds()
{
	[ "$(cat "$cpu"/cpu{7..12}/power/pm_qos_resume_latency_us | xargs)" = "$1" ]
}
check "AdaptScope=group: all of them, and no other" wait_for pool_holds "0 10 10 10 10 0"
check "AdaptScope=group: the log has the numbers" wait_for said \
	'Adapt: group pool, CPUs 8-11: [0-9]+ wake-ups a second from states above 10us, [0-9]+ of them on one CPU.*; limit 10us for 10s'
check "AdaptScope=group: explain tells it" says 0 "10us while its group's CPUs wake up often, which holds on 4 of 4 CPUs; times so far: 1; group pool busy" \
	ctl --socket "$H/run/cpuidled/bus" explain 8
check "AdaptScope=group: status counts CPUs" says 0 'adapts 128 CPUs; 5 busy; 2 times so far, ' ctl --root "$H" status
check "Adapt: status in JSON" json status ctl --root "$H" status --json
check "Adapt: calm again" wait_for holds "$cpu/cpu5/power/pm_qos_resume_latency_us" 0
check "AdaptScope=group: calm again" wait_for pool_holds "0 0 0 0 0 0"
was_good_for()
{
	ctl --root "$H" status | grep -E '0 busy; 2 times so far, [0-9]+ wake-ups within Adapt= meanwhile'
}
check "Adapt: status tells what it was good for" was_good_for
check "Adapt: the log says so" wait_for said 'Adapt: CPU 5: limit 10us no more after [0-9]+ s, the work has calmed down'
stop_daemon
tap_result $? "the daemon ends well"
check "all is as before" all_as_before
finish
