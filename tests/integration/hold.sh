#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holds on a recorded server: by the client, by the library, over the private socket. What the CPUs' files hold after each
# step is said here, not computed.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host aml-y-2
socket=$H/run/cpuidled/bus
c=("$B/bin/cpuidlectl" --socket "$socket")
holder=$B/tests/holder
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"

file()
{
	echo "$H/sys/devices/system/cpu/cpu$1/power/pm_qos_resume_latency_us"
}
# cpus VALUES: of CPUs 0 to 3, in us; 0 is no limit there, n/a is zero.
cpus()
{
	local now
	now=$(cat "$(file 0)" "$(file 1)" "$(file 2)" "$(file 3)" | xargs)
	[ "$now" = "$*" ] || { echo "the files hold $now, not $*"; return 1; }
}
no_holds()
{
	[ -z "$("${c[@]}" list-holds)" ]
}

# ---- a command ----
during()
{
	# shellcheck disable=SC2016 # for the inner shell
	says 7 "20 20 0 0" "${c[@]}" hold --latency 20us --cpus 0-1 --reason "a test" -- \
		sh -c 'cat "$@" | xargs; exit 7' sh "$(file 0)" "$(file 1)" "$(file 2)" "$(file 3)"
}
check "a limit stands while the command runs, whose exit status is that of hold" during
check "and is gone with it" wait_for cpus 0 0 0 0

# The daemon finds both at once: what others wrote, and a hold.
a_moment_before()
{
	local client
	kill -STOP "$daemon_pid"
	echo 3 >"$(file 1)"
	"${c[@]}" hold --latency 20us --cpus 0-1 -- sleep 1000 &
	client=$!
	sleep 0.3
	kill -CONT "$daemon_pid"
	wait_for cpus 20 3 0 0 || return 1
	kill "$client"
	wait "$client"
	wait_for cpus 0 3 0 0
}
check "what others wrote a moment before is not written over" a_moment_before
echo 0 >"$(file 1)"
check "no such command" says 127 "cannot run 'no-such-command'" "${c[@]}" hold --latency 5 -- no-such-command
check "a file that cannot be run" says 126 "cannot run '/etc'" "${c[@]}" hold --latency 5 -- /etc
check "neither leaves a hold behind" wait_for no_holds
check "without --cpus all CPUs are meant" says 0 "CPUs 0-3: 0;" "${c[@]}" hold --latency 0 -- "${c[@]}" list-holds

# ---- several, and what is left when each goes: A 50us on 0-2, B 20us on 1-3 ----
"${c[@]}" hold --latency 50us --cpus 0-2 --reason "A of several" -- sleep 1000 &
a=$!
check "A" wait_for cpus 50 50 50 0
mkfifo "$T/b"
"$holder" "$socket" 1 1-3 20000 <"$T/b" >"$T/holder" &
b=$!
exec {b_end}>"$T/b"
check "A and B" wait_for cpus 50 20 20 20
listed()
{
	json list-holds "${c[@]}" list-holds --json && value "len(d['holds']) == 2" &&
		value "d['holds'][0]['pid'] == $a and d['holds'][0]['owner'] == 'sleep' and d['holds'][0]['limit_ns'] == 50000" &&
		value "d['holds'][1]['pid'] == $b and d['holds'][1]['owner'] == 'matching-engine' and d['holds'][1]['cpus'] == '1-3'"
}
check "list-holds has both, with pid and owner" listed
explained()
{
	"${c[@]}" explain 1 >"$T/explain"
	cat "$T/explain"
	grep -qE "latency limit 50us for 0-2; sleep \(pid $a, uid $(id -u).*\): A of several; since 20" "$T/explain" &&
		grep -qE "latency limit 20us for 1-3; matching-engine \(pid $b, uid $(id -u).*\): trading session open; since 20" "$T/explain"
}
check "explain has both, with owner, pid, reason and since" explained
check "plan names the one that decides" says 0 "of matching-engine (20us)" "${c[@]}" plan
json_status()
{
	json status "${c[@]}" status --json && value "d['holds'] == 2"
}
check "status counts them" json_status
check "a reload drops none" status 0 "${c[@]}" reload
check "the files are as they were" cpus 50 20 20 20

# What others write in between is added to, never overwritten by something looser.
echo 10 >"$(file 0)"
check "others are stricter: theirs" wait_for cpus 10 20 20 20
echo 0 >"$(file 0)"
check "and gone again: the hold's" wait_for cpus 50 20 20 20

exec {b_end}>&-
wait "$b"
check "B has gone" wait_for cpus 50 50 50 0
kill -KILL "$a"
wait "$a" 2>/dev/null
check "A was killed" wait_for cpus 0 0 0 0

# ---- how long a killed holder's limit outlives it: under 100 ms, the best of five ----
outlives()
{
	local i pid begin end best=1000000
	for ((i = 0; i < 5; i++)); do
		"${c[@]}" hold --latency 20us --cpus 3 -- sleep 1000 &
		pid=$!
		wait_for cpus 0 0 0 20 || return
		begin=${EPOCHREALTIME/./}
		kill -KILL "$pid"
		until [ "$(<"$(file 3)")" = 0 ]; do :; done
		end=${EPOCHREALTIME/./}
		wait "$pid" 2>/dev/null
		[ $((end - begin)) -ge $best ] || best=$((end - begin))
	done
	echo "$best us"
	[ "$best" -lt 100000 ]
}
check "kill -9 of the holder frees it within 100 ms" outlives

# ---- time ----
timed()
{
	json hold "${c[@]}" hold --latency 20us --cpus 0 --ttl 1h --json && value "d['id'] > 0" && cpus 20 0 0 0 &&
		"${c[@]}" release "$(cut -d: -f1 <<<"$("${c[@]}" list-holds)")"
}
check "a hold with a time outlives its caller" timed
"${c[@]}" hold --latency 20us --cpus 0 --ttl 400ms -q
check "and ends with its time" wait_for cpus 0 0 0 0
both()
{
	# shellcheck disable=SC2016 # for the inner shell
	says 0 "0" "${c[@]}" hold --latency 20us --cpus 0 --ttl 100ms -- sh -c 'while [ "$(cat "$1")" != 0 ]; do sleep 0.02; done; cat "$1"' \
		sh "$(file 0)"
}
check "time and command: whichever ends first" both

# ---- release ----
id=$("${c[@]}" hold --latency 20us --cpus 1 --ttl 1h | cut -d' ' -f2)
check "it stands" cpus 0 20 0 0
released()
{
	json release "${c[@]}" release "$id" --json && value "d['id'] == $id" && cpus 0 0 0 0
}
check "release ends it" released
check "twice" says 1 "there is no hold $id" "${c[@]}" release "$id"
foreground()
{
	"${c[@]}" hold --latency 20us --cpus 2 >"$T/fg" 2>"$T/fg.err" &
	local pid=$! got=0
	wait_for cpus 0 0 20 0 || return
	"${c[@]}" release "$(cut -d' ' -f2 "$T/fg")" || return
	wait "$pid" || got=$?
	cat "$T/fg.err"
	[ $got = 3 ] && grep -q "has ended: released" "$T/fg.err" && cpus 0 0 0 0
}
check "in the foreground it waits, and says when somebody else ends it" foreground
interrupted()
{
	"${c[@]}" hold --latency 20us --cpus 2 >"$T/fg" &
	local pid=$! got=0
	wait_for cpus 0 0 20 0 || return
	kill -TERM "$pid"
	wait "$pid" || got=$?
	[ $got = 0 ] && wait_for cpus 0 0 0 0
}
check "a signal ends it" interrupted
news()
{
	rm -f "$T/holder"
	mkfifo "$T/n"
	"$holder" "$socket" 2 0 9000 0 news <"$T/n" >"$T/holder" &
	local pid=$! end first
	exec {end}>"$T/n"
	wait_for grep -q ready "$T/holder" || return
	first=$("${c[@]}" list-holds | cut -d: -f1 | head -1)
	"${c[@]}" release "$first" && wait_for grep -qx "ended $first" "$T/holder"
	local r=$?
	exec {end}>&-
	wait "$pid" && return $r
}
check "the library tells which hold has ended" news

# ---- profiles and modes ----
printf '[Profile fast]\nLatencyLimit=40us\nC1Interrupts=window\n' | policy
check "reload" status 0 "${c[@]}" reload
profile()
{
	# shellcheck disable=SC2016 # for the inner shell
	says 0 "profile fast C1Interrupts=sti-mwait" "${c[@]}" hold --profile fast --mode C1Interrupts=sti-mwait --cpus 0 -- \
		sh -c 'f=$1; shift; "$@" list-holds; "$@" explain 0; cat "$f"' sh "$(file 0)" "${c[@]}" &&
		grep -qx 40 "$T/out" && grep -qE 'c1_interrupts +sti-mwait' "$T/out" &&
		grep -q 'held profile .*profile fast, LatencyLimit=40us' "$T/out"
}
check "a profile with a mode over it" profile
check "gone with it" wait_for cpus 0 0 0 0
"${c[@]}" hold --profile fast --cpus 0 --ttl 1h -q
: | policy
check "its profile goes with a reload" says 0 "profile fast, which the policy does not have any more" "${c[@]}" reload
check "then it holds nothing" cpus 0 0 0 0
printf '[Profile fast]\nLatencyLimit=30us\n' | policy
check "and comes back with another" status 0 "${c[@]}" reload
check "with what that says now" cpus 30 0 0 0
check "released" status 0 "${c[@]}" release "$("${c[@]}" list-holds | cut -d: -f1)"

# ---- what makes no sense ----
check "nothing asked for" says 2 "wants --latency, --profile or --mode" "${c[@]}" hold --cpus 0
check "no latency" says 2 "is no latency" "${c[@]}" hold --latency soon -- true
check "latency none" says 2 "asks for nothing" "${c[@]}" hold --latency none -- true
check "no time" says 2 "is no time" "${c[@]}" hold --latency 5 --ttl later
check "no mode" says 1 "'Fast' is no mode; modes are C0," "${c[@]}" hold --mode Fast=1 -- true
check "no value of a mode" says 1 "C0=xx is no known value" "${c[@]}" hold --mode C0=xx -- true
check "no KEY=VALUE" says 2 "is not KEY=VALUE" "${c[@]}" hold --mode C0 -- true
check "no profile" says 1 "there is no profile 'nix'" "${c[@]}" hold --profile nix -- true
check "no CPU" says 1 "selects no CPU" "${c[@]}" hold --latency 5 --cpus 77 -- true
check "no selector" says 2 "CPUs '0-'" "${c[@]}" hold --latency 5 --cpus 0- -- true
check "a reason that is too long" says 2 "more than 127 bytes" "${c[@]}" hold --latency 5 --reason "$(printf '%0200d' 0)" -- true
check "no number" says 2 "is no number of a hold" "${c[@]}" release me
check "another host does not run commands" says 2 "COMMAND would not run" ctl -H nowhere hold --latency 5 -- true
check "none of it is held" no_holds
if is_root; then
	check "nobody may not, here" says 1 "only root may do this on the private socket" \
		nobody "$T/bin/cpuidlectl" --socket "$socket" hold --latency 5 -- true
	"${c[@]}" hold --latency 9us --cpus 0 --ttl 1h -q
	check "nor end what root holds" says 1 "only root may do this" \
		nobody "$T/bin/cpuidlectl" --socket "$socket" release "$("${c[@]}" list-holds | cut -d: -f1)"
	check "but may look" says 0 "9us" nobody "$T/bin/cpuidlectl" --socket "$socket" list-holds
	check "it stands" cpus 9 0 0 0
	check "root may" status 0 "${c[@]}" release "$("${c[@]}" list-holds | cut -d: -f1)"
else
	skip "nobody" "not root"
fi

# ---- many ----
many()
{
	local end pid before after n
	rm -f "$T/holder"
	mkfifo "$T/m"
	"${c[@]}" hold --latency 5us --cpus 0-3 --ttl 1h -q
	before=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon_pid/status")
	"$holder" "$socket" 10000 0-3 20000 1 <"$T/m" >"$T/holder" &
	pid=$!
	exec {end}>"$T/m"
	for ((n = 0; n < 1200; n++)); do
		grep -q ready "$T/holder" && break
		sleep 0.05
	done
	after=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon_pid/status")
	echo "10000 holds: $before kB, then $after kB"
	cpus 5 5 5 5 && says 0 "Holds: 10001" "${c[@]}" status &&
		[ "$("${c[@]}" list-holds | wc -l)" = 10001 ] &&
		{ [[ $B == *asan* ]] || [ $(((after - before) * 1024)) -le $((10000 * 200)) ]; }
	local r=$?
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	exec {end}>&-
	one_left()
	{
		[ "$("${c[@]}" list-holds | wc -l)" = 1 ]
	}
	wait_for one_left && cpus 5 5 5 5 || return
	"${c[@]}" release "$("${c[@]}" list-holds | cut -d: -f1)" && cpus 0 0 0 0 && return $r
}
check "10000 holds of at most 200 bytes each, gone at once with their owner" many

# A program that holds and never reads is not thrown out for the news it does not read.
deaf()
{
	local end pid i
	rm -f "$T/holder"
	mkfifo "$T/d"
	"$holder" "$socket" 1 3 7000 <"$T/d" >"$T/holder" &
	pid=$!
	exec {end}>"$T/d"
	wait_for cpus 0 0 0 7 || return
	for ((i = 0; i < 400; i++)); do
		"$holder" "$socket" 8 0 9000 </dev/null >/dev/null || return
	done
	# A file of a tree is empty for a moment while it is written.
	wait_for cpus 0 0 0 7 && sleep 0.2 && cpus 0 0 0 7
	local r=$?
	exec {end}>&-
	wait "$pid"
	wait_for cpus 0 0 0 0 && return $r
}
check "who holds and does not listen keeps his hold" deaf

# ---- no write, no file opened, where the limit stays what it is ----
quiet()
{
	local end pid tracer
	rm -f "$T/holder"
	mkfifo "$T/q"
	"${c[@]}" hold --latency 5us --cpus 0-3 --ttl 1h -q
	strace -f -e trace=openat,write,pwrite64,writev -o "$T/trace" -p "$daemon_pid" 2>"$T/strace" &
	tracer=$!
	wait_for grep -q attached "$T/strace" || return
	"$holder" "$socket" 100 0-3 20000 <"$T/q" >"$T/holder" &
	pid=$!
	exec {end}>"$T/q"
	wait_for grep -q ready "$T/holder" || return
	exec {end}>&-
	wait "$pid"
	kill "$tracer"
	wait "$tracer" 2>/dev/null
	"${c[@]}" release "$("${c[@]}" list-holds | cut -d: -f1)"
	grep -c write "$T/trace" && ! grep openat "$T/trace" | grep -v /proc/
}
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	check "a hundred holds that change nothing: no file of the host is opened" quiet
else
	skip "holds that change nothing" "no strace, or ptrace is not allowed"
fi

# ---- the end of the daemon ----
ends()
{
	"${c[@]}" hold --latency 20us --cpus 0-3 >"$T/fg" 2>"$T/fg.err" &
	local fg=$! got=0
	wait_for cpus 20 20 20 20 || return
	kill -TERM "$daemon_pid"
	wait "$fg" || got=$?
	cat "$T/fg.err"
	[ $got = 4 ] && grep -q "the daemon has gone" "$T/fg.err" && wait_for cpus 0 0 0 0
}
check "holds end with the daemon, and their holders are told" ends
wait "$daemon_pid"
start_daemon >"$T/.output" 2>&1
tap_result $? "another daemon starts"
"${c[@]}" hold --latency 20us --cpus 0 -- sleep 1000 &
sleeper=$!
check "a hold stands again" wait_for cpus 20 0 0 0
kill -KILL "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
start_daemon >"$T/.output" 2>&1
tap_result $? "its successor starts after kill -9"
check "and gives back what was held" wait_for cpus 0 0 0 0
check "and knows of no hold" no_holds
kill "$sleeper"
wait "$sleeper" 2>/dev/null
finish
