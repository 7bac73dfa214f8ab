#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cpuidlectl against a daemon on a recorded server (Skylake-D: POLL, C1, C1E at 10us, C6 at 133us), over the private
# socket alone, and without a daemon.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host skld0
cpu=$H/sys/devices/system/cpu
policy <<'END'
[Profile app]
Description=what the tests ask for
LatencyLimit=10us
[Group first]
CPUs=0-1
Profile=app
END
printf '[Daemon]\nDefaultProfile=nowhere\nNonsense=1\n[Group x]\nCPUs=0-\nProfile=app\n' >"$T/bad.conf"
printf '[Daemon]\nDefaultProfil=balanced\n' >"$T/warning.conf"
printf '[Group all]\nCPUs=all\nProfile=low-latency\n' >"$T/good.conf"

# ---- nobody there ----
r=(--root "$H")
for verb in status verify reload monitor show list-profiles plan "explain 0" "set DefaultProfile=balanced"; do
	# shellcheck disable=SC2086
	check "without a daemon: $verb ends with 4" \
		says 4 "cpuidlectl: no cpuidled answers" ctl --socket "$T/none" $verb
done
check "without a daemon: the socket tried is named" says 4 "$T/none" ctl --socket "$T/none" status
check "without a daemon: the tree's socket is named" says 4 "$H/run/cpuidled/bus" ctl "${r[@]}" status
check "without a daemon: what to do is said" says 4 "systemctl start cpuidled" ctl "${r[@]}" status

# ---- usage ----
check "no verb" says 2 "cpuidlectl: no verb given" ctl
check "unknown verb" says 2 "cpuidlectl: unknown verb 'frobnicate'" ctl frobnicate
check "mistyped verb" says 2 "did you mean 'status'?" ctl staus
check "unknown option" says 2 "unknown option '--bogus'" ctl --bogus status
check "an option that wants a value" says 2 "needs a value" ctl plan --cpus
check "an option with an empty value" says 2 "empty value" ctl plan --cpus=
check "an option of another verb" says 2 "--strict means nothing to 'status'" ctl status --strict
check "an argument too many" says 2 "takes no argument" ctl status now
check "an argument missing" says 2 "wants CPUS" ctl explain
check "--host with --root" says 2 "does not go with" ctl -H x --root / status
check "--socket with --root" says 2 "--socket" ctl --socket x --root / plan
check "--changes with --socket" says 2 "--changes" ctl --socket x plan --changes
check "set without anything" says 2 "KEY=VALUE" ctl "${r[@]}" set
check "set of no assignment" says 2 "KEY=VALUE is right" ctl "${r[@]}" set balanced
check "set of an unknown key" says 2 "did you mean DefaultProfile=?" ctl "${r[@]}" set DefaultProfle=x
check "set --reset with a key" says 2 "--reset drops all" ctl "${r[@]}" set --reset DefaultProfile=x
check "set with a bad selector" says 2 "--cpus node:" ctl "${r[@]}" set --cpus node: Profile=app
check "check with FILE and --policy" says 2 "twice" ctl check --policy x y
check "--help" says 0 "Usage: cpuidlectl" ctl --help
check "--version" says 0 "cpuidlectl 0." ctl --version
check "help of a verb" says 0 "Usage: cpuidlectl plan" ctl plan --help
full()
{
	status 1 ctl --help >/dev/full
}
check "an answer that cannot be written is a failure" full

# ---- offline ----
check "check of a good file" says 0 "ok" ctl check "${r[@]}" "$T/good.conf"
check "check of a bad file ends with 3" says 3 "$T/bad.conf:2: error:" ctl check "${r[@]}" "$T/bad.conf"
check "check prints every error" says 3 "$T/bad.conf:5: error:" ctl check "${r[@]}" "$T/bad.conf"
check "check names the nearest key" says 0 "DefaultProfile" ctl check "${r[@]}" "$T/warning.conf"
check "a warning does not fail" status 0 ctl check "${r[@]}" "$T/warning.conf"
check "--strict makes it fail" says 3 "not ok" ctl check --strict "${r[@]}" "$T/warning.conf"
check "check of several files judges all" says 3 "$T/bad.conf: not ok" ctl check "${r[@]}" "$T/good.conf" "$T/bad.conf"
check "check of what is not there" says 3 "$T/absent.conf" ctl check "${r[@]}" "$T/absent.conf"
check "check without FILE takes the search path" says 0 "policy: ok" ctl check "${r[@]}"
check "check of a tree without CPUs ends with 4" says 4 "no CPUs" ctl check --root "$T/bin" "$T/good.conf"
check "check of no tree ends with 4" says 4 "cannot open" ctl check --root "$T/absent" "$T/good.conf"
quiet()
{
	[ -z "$(ctl check -q "${r[@]}" "$T/good.conf" 2>&1)" ]
}
check "check -q of a good file is silent" quiet
check "check --json" json check ctl check --json "${r[@]}" "$T/good.conf" "$T/warning.conf"
check "check --json: two files, both fine" value 'd["ok"] and len(d["files"]) == 2 and d["files"][1]["warnings"] > 0'
check_bad_json()
{
	status 3 ctl check --json "${r[@]}" "$T/bad.conf" >"$T/json" || return
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/check.json" <"$T/json" &&
		value 'not d["ok"] and d["files"][0]["errors"] >= 2 and d["files"][0]["diagnostics"][0]["line"]'
}
check "check --json of a bad file: 3, and the list" check_bad_json

check "plan of a tree" says 0 "low-latency" ctl plan "${r[@]}" --policy "$T/good.conf"
check "plan --json" json plan ctl plan --json "${r[@]}" --policy "$T/good.conf"
check "plan --json: the limit is that of low-latency, C6 is off" value \
	'[r["latency_limit_ns"] for r in d["rows"]] == [20000] and [s["name"] for s in d["rows"][0]["states"] if s["enabled"]] == ["POLL", "C1", "C1E"]'
check "plan --json: all modes" value 'set(d["rows"][0]["modes"]) == {"c0", "c1_interrupts", "haltpoll", "broadcast", "ioport"}'
check "plan --json --cpus narrows" json plan ctl plan --json "${r[@]}" --policy "$T/good.conf" --cpus 2-3,99
check "plan --json --cpus: these" value '[r["cpus"] for r in d["rows"]] == ["2-3"]'
check "plan of no CPU" says 1 "selects no CPU" ctl plan "${r[@]}" --cpus 99
check "plan with a bad selector" says 2 "CPUs '0-'" ctl plan "${r[@]}" --cpus 0-
check "plan of a bad policy ends with 3" says 3 "error:" ctl plan "${r[@]}" --policy "$T/bad.conf"
check "plan --changes" says 0 "pm_qos_resume_latency_us" ctl plan --changes "${r[@]}" --policy "$T/good.conf"
check "plan --changes --json" json plan ctl plan --changes --json "${r[@]}" --policy "$T/good.conf"
check "plan --changes --json: one write per CPU" value \
	'len(d["changes"]) == 16 and all(c["to"] == 20000 and c["from"] is None and not c["loosens"] for c in d["changes"])'
check "explain of a tree" says 0 "low-latency" ctl explain 0 "${r[@]}" --policy "$T/good.conf"
check "explain --json" json explain ctl explain 0 --json "${r[@]}" --policy "$T/good.conf"
check "explain --json: layers" value 'len(d["rows"]) == 1 and len(d["rows"][0]["layers"]) >= 3'
check "show of files" says 0 "[Profile app]" ctl show "${r[@]}"
check "show --json of files" json show ctl show --json "${r[@]}"
check "show of a bad policy ends with 3" says 3 "error:" ctl show "${r[@]}" --policy "$T/bad.conf"
check "list-profiles of files" says 0 "what the tests ask for" ctl list-profiles "${r[@]}"
check "list-profiles --json of files" json list-profiles ctl list-profiles --json "${r[@]}"
check "list-profiles --json: shipped ones and ours" value \
	'{"app", "balanced", "low-latency", "realtime"} <= {p["name"] for p in d["profiles"]}'
untouched()
{
	grep -qx 0 "$cpu"/cpu*/power/pm_qos_resume_latency_us && ! [ -e "$H/run/cpuidled" ]
}
check "offline verbs write nothing" untouched

# ---- with the daemon, over its socket ----
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"
s=(--socket "$H/run/cpuidled/bus")
check "status" says 0 "ACTIVE" ctl "${r[@]}" status
check "status: the policy file" says 0 "etc/cpuidled/cpuidled.conf" ctl "${r[@]}" status
check "status by --socket" says 0 "ACTIVE" ctl "${s[@]}" status
check "status --json" json status ctl "${s[@]}" status --json
check "status --json: 16 CPUs, intel_idle" value 'd["cpus"] == d["cpus_online"] == 16 and d["state"] == "ACTIVE" and d["last_error"] is None'
check "show" says 0 "[Group first]" ctl "${s[@]}" show
check "show --json" json show ctl "${s[@]}" show --json
check "list-profiles" says 0 "app" ctl "${s[@]}" list-profiles
check "list-profiles --json" json list-profiles ctl "${s[@]}" list-profiles --json
check "plan from the daemon" says 0 "app" ctl "${s[@]}" plan
check "plan --json from the daemon" json plan ctl "${s[@]}" plan --json
cp "$T/json" "$T/online.json" 2>/dev/null
same_plan()
{
	ctl plan --json "${r[@]}" >"$T/json" 2>/dev/null
	python3 -c 'import json, sys; a, b = (json.load(open(f))["rows"] for f in sys.argv[1:]); sys.exit(a != b)' \
		"$T/json" "$T/online.json"
}
check "the plan of the daemon and the offline one are equal" same_plan
check "plan --cpus from the daemon" json plan ctl "${s[@]}" plan --json --cpus "0-3 & !1"
check "plan --cpus: these" value '[r["cpus"] for r in d["rows"]] == ["0", "2-3"]'
check "a selector the policy does not need (node:0)" json plan ctl "${s[@]}" plan --json --cpus node:0
check "node:0: all of them" value 'sum(len(r["states"]) > 0 for r in d["rows"]) == len(d["rows"]) > 0'
check "explain from the daemon" says 0 "first" ctl "${s[@]}" explain 0
check "explain --json from the daemon" json explain ctl "${s[@]}" explain 0-1 --json
check "explain --json: the group is named in a layer" value 'any("first" in l["name"] + l["text"] for l in d["rows"][0]["layers"])'
check "explain of no CPU" says 1 "selects no CPU" ctl "${s[@]}" explain 99
check "explain of junk" says 2 "CPUs 'x'" ctl "${s[@]}" explain x
check "verify" says 0 "ok" ctl "${s[@]}" verify --interval 0
check "verify --json" json verify ctl "${s[@]}" verify --json
check "verify --json: ok" value 'd["ok"]'

qos()
{
	[ "$(cat "$cpu/cpu$1/power/pm_qos_resume_latency_us")" = "$2" ] && return
	echo "cpu$1: $(cat "$cpu/cpu$1/power/pm_qos_resume_latency_us"), not $2"
	return 1
}
check "the policy stands" qos 0 10
check "and nothing else" qos 2 0
check "set --cpus reaches the CPUs" status 0 ctl "${s[@]}" set --cpus 2-3 LatencyLimit=7us
check "set --cpus: the file" qos 3 7
check "status shows the settings" says 0 "LatencyLimit=7us" ctl "${s[@]}" status
check "a second set adds up" status 0 ctl "${s[@]}" set --cpus 4 LatencyLimit=9us
check "the second one stands" qos 4 9
check "the first one still does" qos 3 7
check "the same selector again replaces" status 0 ctl "${s[@]}" set --cpus 4 LatencyLimit=8us
check "replaced" qos 4 8
check "set --json" json set ctl "${s[@]}" set --json GlobalLatencyLimit=none
check "set --json: applied" value 'd["result"] == "applied"'
check "a set that makes no sense is refused with 3" says 3 "error:" ctl "${s[@]}" set --cpus 5 LatencyLimit=soon
check "refused: nothing has changed" qos 5 0
check "refused: the earlier settings stand" qos 3 7
set_refused_json()
{
	status 3 ctl "${s[@]}" set --json DefaultProfile=nowhere >"$T/json" || return
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/set.json" <"$T/json" &&
		value 'd["result"] == "refused" and any("nowhere" in x["text"] for x in d["diagnostics"])'
}
check "set --json refused: 3, and the list" set_refused_json
check "settings outlive a reload" status 0 ctl "${s[@]}" reload
check "settings outlive a reload: the file" qos 3 7
check "reload --json" json reload ctl "${s[@]}" reload --json

cp "$H/etc/cpuidled/cpuidled.conf" "$T/kept.conf"
bytes()
{
	cat "$cpu"/cpu*/power/pm_qos_resume_latency_us "$cpu"/cpu*/cpuidle/state*/disable | cksum
}
before=$(bytes)
policy <"$T/bad.conf"
check "reload of a bad file ends with 3" says 3 "cpuidled.conf:2: error:" ctl "${s[@]}" reload
check "reload prints every error" says 3 "cpuidled.conf:5: error:" ctl "${s[@]}" reload
check "reload says that nothing has changed" says 3 "cpuidlectl: the policy is refused and nothing has changed" ctl "${s[@]}" reload
reload_refused_json()
{
	status 3 ctl "${s[@]}" reload --json >"$T/json" || return
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/reload.json" <"$T/json" &&
		value 'd["result"] == "refused" and sum(x["severity"] == "error" for x in d["diagnostics"]) >= 2'
}
check "reload --json of a bad file" reload_refused_json
same_bytes()
{
	[ "$(bytes)" = "$before" ]
}
check "a refused reload touches no file" same_bytes
check "the daemon serves on" says 0 "[Group first]" ctl "${s[@]}" show
policy <"$T/kept.conf"
check "reload of the good file again" status 0 ctl "${s[@]}" reload

# What CPUs have is what a new key is laid upon: the limit of app stays.
check "set --cpus of a mode" status 0 ctl "${s[@]}" set --cpus 0 C1Interrupts=auto
check "it builds on their profile" says 0 "Base=app" ctl "${s[@]}" status
check "whose limit stands" qos 0 10
check "a key more does not change the base" status 0 ctl "${s[@]}" set --cpus 0 LatencyLimit=9us
check "nor builds on itself" qos 0 9
check "CPUs of several profiles are told" says 0 "have several profiles (0 has runtime-0, 7 has" ctl "${s[@]}" set --cpus 0,7 C0=auto

check "set --reset" status 0 ctl "${s[@]}" set --reset
check "set --reset: the files" qos 3 0
check "set --reset: the policy of the files stands" qos 0 10
check "set without --cpus" status 0 ctl "${s[@]}" set DefaultProfile=low-latency
check "DefaultProfile reaches the others" qos 7 20
check "set --reset again" status 0 ctl "${s[@]}" set --reset

# ---- who may ----
if is_root; then
	n=(nobody "$T/bin/cpuidlectl" --socket "$H/run/cpuidled/bus")
	for verb in status show list-profiles plan "explain 0" "verify --interval 0"; do
		# shellcheck disable=SC2086
		check "not root: may $verb" status 0 "${n[@]}" $verb
	done
	for verb in reload "set DefaultProfile=realtime" "set --cpus 5 Profile=realtime" "set --reset"; do
		# shellcheck disable=SC2086
		check "not root: may not $verb" says 1 "cpuidlectl: only root may do this" "${n[@]}" $verb
	done
	check "not root: nothing has changed" qos 5 0
else
	skip "callers who are not root" "needs root to become somebody else"
fi

# ---- monitor ----
monitored()
{
	ctl "${s[@]}" monitor --json >"$T/events" &
	local pid=$!
	wait_for test -d /proc/$pid
	sleep 0.3
	ctl "${s[@]}" set --cpus 6 LatencyLimit=6us && wait_for test -s "$T/events"
	kill $pid
	wait $pid 2>/dev/null
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/monitor.json" --lines <"$T/events"
}
check "monitor --json shows a change" monitored
monitor_ends()
{
	ctl "${s[@]}" monitor >"$T/events" 2>"$T/monitor.err" &
	local pid=$! got=0
	sleep 0.3
	stop_daemon
	wait $pid || got=$?
	cat "$T/monitor.err"
	[ $got = 4 ] && grep -q "^cpuidlectl: the daemon has gone" "$T/monitor.err" &&
		grep -q ' applied: the host has its own settings again ([0-9]* files) \[stop\]$' "$T/events"
}
# In this shell, since only it may wait for the daemon.
monitor_ends >"$T/.output" 2>&1
tap_result $? "monitor ends with 4 when the daemon goes"
check "afterwards nobody is there" status 4 ctl "${s[@]}" status
gone()
{
	! [ -e "$H/run/cpuidled/bus" ]
}
check "the socket has gone with the daemon" gone
check "settings are gone with it: the files" qos 6 0

start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts again"
check "a new daemon has no settings" json status ctl "${s[@]}" status --json
check "none" value 'd["run_time_settings"] == []'

# ---- the manual's examples ----
mkdir "$T/examples"
cp "$T/good.conf" "$T/examples/new.conf"
ln -s "$H" "$T/examples/server"
examples()
{
	local line run=0
	cd "$T/examples" || return
	while IFS= read -r line; do
		run=$((run + 1))
		# Each at the recorded server: what needs a daemon at its socket, the rest at the tree.
		case $line in
		*" --root "*) ;;
		"cpuidlectl check "* | *" --changes "*) line="$line --root server" ;;
		"cpuidlectl hold "*) line="cpuidlectl --socket $H/run/cpuidled/bus ${line#cpuidlectl }" ;;
		*) line="$line --socket $H/run/cpuidled/bus" ;;
		esac
		echo "$line"
		PATH=$B/bin:$PATH bash -c "$line" || return
	done < <(sed 's/\\-/-/g' "$top/man/cpuidlectl.1" | sed -n '/^\.EX/,/^\.EE/s/^\$ //p')
	[ $run -ge 10 ]
}
check "the examples of cpuidlectl(1) work" examples
kill "$daemon_pid"
wait "$daemon_pid"
tap_result $? "the daemon ends well"
# ---- import ----
printf '[cpu]\nforce_latency=cstate.id:1|3\ngovernor=performance\n' >"$T/tuned.conf"
check "import" says 0 "GlobalLatencyLimit=3us" ctl import tuned "$T/tuned.conf"
check "import --output" status 0 ctl import tuned "$T/tuned.conf" --output "$T/imported.conf"
check "import: what comes of it passes check" status 0 ctl check --strict --root "$H" "$T/imported.conf"
echo 'cpu-c-states.crio.io: "max_latency:0"' >"$T/pod.yaml"
check "import --json" json import ctl import tuned "$T/tuned.conf" --json
check "import: a value that is none" says 1 "$T/pod.yaml:1: error: cpu-c-states.crio.io has 'max_latency:0'" ctl import crio "$T/pod.yaml"
check "import: a format that is none" says 2 "'tlp' is none of tuned, saptune, crio, pepc" ctl import tlp "$T/tuned.conf"
check "import: no such file" says 1 "No such file" ctl import pepc "$T/none"

# ---- simulate ----
trace=$top/tests/data/idle/onebusy.trace
sim=(simulate --root "$H")
printf '[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=20us\n' >"$T/sim.conf"
printf '# nothing\n' >"$T/empty.trace"
printf '0 10 5 -\n# fine\n0 x 5 -\n' >"$T/bad.trace"
printf '5000 10 5 -\n' >"$T/far.trace"
cat >"$T/perf.txt" <<'END'
         swapper     0 [001]  5012.345678: power:cpu_idle: state=3 cpu_id=1
         swapper     0 [000]  5012.345700: power:cpu_idle: state=1 cpu_id=0
         swapper     0 [000]  5012.345720: power:cpu_idle: state=4294967295 cpu_id=0
         swapper     0 [001]  5012.346678: power:cpu_idle: state=4294967295 cpu_id=1
END
check "simulate: the limit is met" says 0 "policy    100.0000 %            0" ctl "${sim[@]}" --policy "$T/sim.conf" --trace "$trace"
check "simulate: what could be had without foresight" says 0 "without foresight nobody needs less than 1.000" \
	ctl "${sim[@]}" --policy "$T/sim.conf" --trace "$trace"
check "simulate: for whom the trace is" says 0 "meant for profile adaptive" ctl "${sim[@]}" --policy "$T/sim.conf" --trace "$trace"
check "simulate --json" json simulate ctl "${sim[@]}" --policy "$T/sim.conf" --trace "$trace" --json
check "simulate --json: without a policy it is not met" value \
	'[r["over_limit"] > 1000 for r in d["results"]] == [True, True, False, False, False]'
check "simulate --json: energy beside the oracle's" value \
	'1 <= d["results"][2]["energy_us"] / d["results"][3]["energy_us"] <= 1.1'
piped()
{
	ctl "${sim[@]}" --policy "$T/sim.conf" --trace - <"$trace"
}
check "simulate: a trace from standard input" says 0 "8 CPUs, 11154 idle periods" piped
convert()
{
	ctl simulate --convert "$T/perf.txt" >"$T/perf.trace" && cat "$T/perf.trace"
}
check "simulate --convert" says 0 "1 0.000 1000.000 -" convert
check "simulate --convert: what comes of it can be played" says 0 "2 CPUs, 2 idle periods" ctl "${sim[@]}" --trace "$T/perf.trace"
check "simulate: a bad line" says 3 "bad.trace:3: error: '0 x 5 -' has no time in the second place; microseconds" \
	ctl "${sim[@]}" --trace "$T/bad.trace"
check "simulate: an empty trace" says 3 "has no idle period" ctl "${sim[@]}" --trace "$T/empty.trace"
check "simulate: a CPU the host lacks" says 1 "CPU 5000 has no idle states on this host" ctl "${sim[@]}" --trace "$T/far.trace"
check "simulate: no such file" says 1 "No such file" ctl "${sim[@]}" --trace "$T/none"
check "simulate: a bad policy" says 3 "there is no such profile" ctl "${sim[@]}" --trace "$trace" --policy "$T/bad.conf"
check "simulate --convert of something else" says 3 "perf record -a -e power:cpu_idle" ctl simulate --convert "$trace"
check "simulate: neither --trace nor --convert" says 2 "either --trace or --convert" ctl "${sim[@]}"
check "simulate --convert with --root" says 2 "does not go with --root" ctl "${sim[@]}" --convert "$T/perf.txt"

finish
