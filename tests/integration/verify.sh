#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# verify in the real daemon, on a recorded server whose counters a program moves: what is kept, what is not, what proves
# nothing; many who ask at once, and who go away; and monitor, which says why with each change.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host skld0
cpu=$H/sys/devices/system/cpu
s=(--socket "$H/run/cpuidled/bus")

plain()
{
	policy <<'END'
[Profile p]
LatencyLimit=20us
[Profile q]
DisableStates=C1E
[Group first]
CPUs=0-3
Profile=p
[Group second]
CPUs=4-5
Profile=q
END
}

moved()
{
	[ "$(cat "$1")" != "$2" ]
}

# move STATE[!] CPUS: five entries of it every 50 ms from now on, 400 us long
move()
{
	local file=$cpu/cpu${2%-*}/cpuidle/state${1%!}/usage before
	before=$(cat "$file")
	python3 "$top/tests/integration/counts.py" "$H" 60 "$1" "$2" 0.05 5 2000 0 &
	pids+=($!)
	wait_for moved "$file" "$before"
}

still()
{
	kill "${pids[-1]}"
	wait "${pids[-1]}" 2>/dev/null
	unset 'pids[-1]'
}

# while_moving STATE CPUS COMMAND ...
while_moving()
{
	local status=0
	move "$1" "$2"
	shift 2
	"$@" || status=$?
	still
	return "$status"
}

found()
{
	grep -qE -- "$1" "$T/verify" || { echo "no line has: $1"; cat "$T/verify"; return 1; }
}

# verify STATUS [OPTION ...]
verify()
{
	local want=$1 got=0
	shift
	ctl "${s[@]}" verify "$@" >"$T/verify" || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, not $want"; cat "$T/verify"; return 1; }
}

settings_alone()
{
	verify 0 --interval 0 && found '^ok +CPUs 0-3: limit: requested 20us by the policy, effective 20us in pm_qos_resume_latency_us$' &&
		! grep -q usage "$T/verify"
}

proves_nothing()
{
	verify 0 --interval 200ms && found '^unsupported +CPUs 0-5: usage: no idle period ended within [0-9]+ms: no proof$'
}

kept()
{
	while_moving 1 0-3 verify 0 && found '^ok +CPUs 0-3: usage: C6 not entered in 1\.[0-9]s; [0-9]+ other idle periods or more each$' &&
		found '^unsupported +CPUs 4-5: usage: no idle period'
}

entered_over_the_limit()
{
	while_moving '3!' 2 verify 3 --interval 500ms && found '^differs +CPUs 2: state3/usage: C6 entered [0-9]+ times in [0-9.]+m?s, should be off: exit latency 133us > limit 20us$' &&
		found '^ok +CPUs 4-5: state2/disable: 1$'
}

entered_though_off()
{
	while_moving '2!' 4 json_3 && value 'd["ok"] is False' &&
		value '[f["cpus"] for f in d["findings"] if f["result"] == "differs"] == ["4"]' &&
		value '[f["knob"] for f in d["findings"] if f["result"] == "differs"] == ["state2/usage"]'
}

json_3()
{
	status 3 ctl "${s[@]}" verify --json --interval 500ms >"$T/json" && python3 "$top/tests/integration/validate.py" "$top/etc/schemas/verify.json" <"$T/json"
}

# A mapped page makes no event: nobody is told that the state is on again.
behind_the_back()
{
	python3 -c 'import mmap, sys; f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:1] = b"0"; m.flush()' \
		"$cpu/cpu5/cpuidle/state2/disable"
	while_moving 2 5 verify 3 --interval 500ms && found '^differs +CPUs 5: state2/disable: found 0, should be 1$' &&
		found '^differs +CPUs 5: state2/usage: C1E entered [0-9]+ times in' || return 1
	# It has been told now, and answered as a foreign write is: left to them until the next reload.
	ctl "${s[@]}" reload && verify 0 --interval 0
}

# What is off only since the plan changed is not judged, nor what is on again.
plan_changes()
{
	local pid got=0
	move 3 8-9
	ctl "${s[@]}" hold --cpus 9 --latency 10us --ttl 1min >"$T/hold" || return
	ctl "${s[@]}" verify --interval 2s >"$T/verify" &
	pid=$!
	sleep 0.3
	ctl "${s[@]}" release "$(sed 's/^hold //' "$T/hold")" && ctl "${s[@]}" hold --cpus 8 --latency 10us --ttl 4s || return
	wait $pid || got=$?
	still
	cat "$T/verify"
	[ $got = 0 ] && found 'CPUs 9: usage: the plan changed, nothing was off all the time: no proof' && ! grep -q 'CPUs 8: usage' "$T/verify"
}

# Twenty at once; who asks something else is answered meanwhile.
many_at_once()
{
	local i pid waiting=()
	for ((i = 0; i < 20; i++)); do
		ctl "${s[@]}" verify --interval 2s >"$T/many.$i" &
		waiting+=($!)
	done
	ctl "${s[@]}" status >/dev/null && ctl "${s[@]}" plan >/dev/null || return
	for pid in "${waiting[@]}"; do
		kill -0 "$pid" || { echo "answered before the others"; return 1; }
	done
	for pid in "${waiting[@]}"; do
		wait "$pid" || { echo "one failed"; return 1; }
	done
	for ((i = 0; i < 20; i++)); do
		grep -q '^unsupported .* usage: no idle period ended within 2\.[0-9]s' "$T/many.$i" || { cat "$T/many.$i"; return 1; }
	done
}

# Nothing is left of somebody who went away: no timer, no look at the end.
who_goes_away()
{
	status 124 timeout 0.3 "$B/bin/cpuidlectl" "${s[@]}" verify --interval 1s >/dev/null || return
	sleep 0.2
	timeout 1.5 strace -f -qq -y -o "$T/calls" -p "$daemon_pid"
	cat "$T/calls"
	[ "$(grep -vc epoll_wait "$T/calls")" = 0 ] && [ "$(wc -l <"$T/calls")" -le 1 ]
}

daemon_ends()
{
	local pid got=0
	ctl "${s[@]}" verify --interval 30s >"$T/verify" 2>"$T/err" &
	pid=$!
	sleep 0.3
	kill "$daemon_pid"
	wait $pid || got=$?
	cat "$T/err"
	[ $got = 4 ] && grep -q '^cpuidlectl: no cpuidled answers' "$T/err"
}

plain
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"
check "--interval 0: the settings alone" settings_alone
check "no CPU is awake: nothing is proved, and that is said" proves_nothing
check "a state that is off is not entered: ok" kept
check "a state over the limit is entered: differs, exit 3" entered_over_the_limit
check "a state of DisableStates= is entered: differs, by JSON" entered_though_off
check "switched on behind the daemon's back: setting and counter differ" behind_the_back
check "the plan changes meanwhile" plan_changes
check "many at once" many_at_once
if can_trace; then
	check "somebody goes away" who_goes_away
else
	skip "somebody goes away" "$why"
fi
for word in soon '1s,' -1s 1.5s ''; do
	check "--interval '$word' makes no sense" status 2 ctl "${s[@]}" verify --interval "$word"
done
check "an interval of a day is too long" says 2 "an interval has at most 600 s" ctl "${s[@]}" verify --interval 1d
if is_root; then
	check "not root: may observe" status 0 nobody "$T/bin/cpuidlectl" "${s[@]}" verify --interval 100ms
fi

# ---- monitor: each change says why ----
ctl "${s[@]}" monitor --json >"$T/events" &
pids+=($!)
ctl "${s[@]}" monitor >"$T/events.txt" &
pids+=($!)

# told WHAT DETAIL WHY: an event like that (regular expressions)
told()
{
	python3 - "$T/events" "$@" <<'END'
import json, re, sys
_, name, what, detail, why = sys.argv
with open(name, encoding="utf-8") as file:
    for line in file:
        d = json.loads(line)
        if d["what"] == what and re.search(detail, d["detail"]) and re.search(why, d["why"]):
            sys.exit(0)
sys.exit(f"no {what} {detail} {why}")
END
}

will_tell()
{
	wait_for told "$@" || { cat "$T/events"; return 1; }
}

both_listen()
{
	ctl "${s[@]}" reload >/dev/null 2>&1
	grep -q reload "$T/events" && grep -q reload "$T/events.txt"
}
check "monitor listens" wait_for both_listen
ctl "${s[@]}" hold --cpus 8 --latency 10us --reason "a test" --ttl 1min >"$T/hold"
check "a hold: the hold" will_tell hold '^hold [0-9]+ of cpuidlectl .*taken' 'taken'
check "a hold: the write, because of it" will_tell applied '^CPU 8: pm_qos_resume_latency_us none -> 10us' '^hold [0-9]+ of cpuidlectl \(pid [0-9]+, uid [0-9]+.*: a test$'
ctl "${s[@]}" release "$(sed 's/^hold //' "$T/hold")"
check "its end" will_tell applied '^CPU 8: pm_qos_resume_latency_us 10us -> none' '^hold [0-9]+ of cpuidlectl .* released: '
ctl "${s[@]}" set --cpus 9 LatencyLimit=7us
check "set" will_tell applied '^CPU 9: .* none -> 7us' '^run-time settings$'
ctl "${s[@]}" set --reset
check "set --reset" will_tell applied '^CPU 9: .* 7us -> none' '^reset of settings$'
echo 3 >"$cpu/cpu0/power/pm_qos_resume_latency_us"
check "a write of others" will_tell foreign-write '^CPU 0: somebody set pm_qos_resume_latency_us from 20us to 3us' '^written by others$'
echo 0-6,8-15 >"$cpu/online"
ctl "${s[@]}" reload >/dev/null
check "a CPU that is gone" will_tell cpus '^CPU 7 went offline$' '^reload$'
check "reload" will_tell reload '^reload done' '^reload$'
echo 0-15 >"$cpu/online"
ctl "${s[@]}" reload >/dev/null
check "and back" will_tell cpus '^CPU 7 came online$' '^reload$'
echo junk | policy
ctl "${s[@]}" reload >/dev/null 2>&1
check "a bad policy" will_tell reload '^reload refused: the policy has errors$' '^reload$'
plain
printf '[Daemon]\nDefaultProfile=p\n' >>"$H/etc/cpuidled/cpuidled.conf"
kill -HUP "$daemon_pid"
check "SIGHUP" will_tell applied '^CPUs 6-15: .* none -> 20us \(profile p\)' '^reload$'
all_valid()
{
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/monitor.json" --lines <"$T/events"
}
check "every line keeps to the schema" all_valid
all_why()
{
	! grep -E '"why":""' "$T/events"
}
check "and says why" all_why
check "the text as well" grep -qE '^[0-9]{4}-.* applied: CPU 8: pm_qos.* none -> 10us .*\[hold [0-9]+ of cpuidlectl .*: a test\]$' "$T/events.txt"
check "the daemon ends while somebody waits" daemon_ends
finish
