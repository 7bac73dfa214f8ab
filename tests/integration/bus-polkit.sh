#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The real polkitd on a private system bus, with our actions and a rule that allows the user nobody some of them. Its
# folders of actions and rules are compiled in, so it runs in a mount namespace of its own where these are ours.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

polkitd=/usr/lib/polkit-1/polkitd
if ! is_root || [ ! -x $polkitd ] || ! unshare -m true 2>/dev/null; then
	skip "polkit" "needs root, polkitd and mount namespaces"
	finish
	exit
fi
make_host aml-y-2
printf '[Daemon]\nDefaultProfile=low-latency\n' | policy
start_bus >"$T/.output" 2>&1
tap_result $? "a system bus comes up"
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"
check "the daemon gets the name" on_bus

# allow ACTION ...: what nobody may, from now on.
start_polkit()
{
	mkdir -p "$T/polkit"
	{
		echo 'polkit.addRule(function(action, subject) {'
		echo '	if (subject.user != "nobody") return polkit.Result.NOT_HANDLED;'
		for action in "$@"; do
			echo "	if (action.id == \"$action\") return polkit.Result.YES;"
		done
		echo '	return polkit.Result.NO;'
		echo '});'
	} >"$T/polkit/10-test.rules"
	cp "$top/etc/org.cpuidled1.policy" "$T/polkit/"
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c '
		mount -t tmpfs -o mode=755 none /usr/share/polkit-1/actions &&
		cp "$1/org.cpuidled1.policy" /usr/share/polkit-1/actions/ &&
		mount -t tmpfs -o mode=755 none /etc/polkit-1/rules.d &&
		cp "$1/10-test.rules" /etc/polkit-1/rules.d/ &&
		exec "$2"' sh "$T/polkit" $polkitd >"$T/polkit.log" 2>&1 &
	polkit_pid=$!
	pids+=("$polkit_pid")
	wait_for busctl --system status org.freedesktop.PolicyKit1
}
stop_polkit()
{
	kill "$polkit_pid"
	wait "$polkit_pid" 2>/dev/null
}
n=(nobody "$T/bin/cpuidlectl")

start_polkit org.cpuidled1.reload org.cpuidled1.set org.cpuidled1.hold >"$T/.output" 2>&1
tap_result $? "polkitd starts with our actions"
actions()
{
	busctl --system call org.freedesktop.PolicyKit1 /org/freedesktop/PolicyKit1/Authority \
		org.freedesktop.PolicyKit1.Authority EnumerateActions s "" >"$T/out" || return
	for action in reload set reset-settings; do
		grep -q "\"org.cpuidled1.$action\"" "$T/out" || return
	done
	# Each action protocol.h names, and no other.
	diff <(grep -o '"org\.cpuidled1\.[a-z-]*"' "$T/out" | sort) \
		<(sed -n 's/^#define PROTOCOL_ACTION_[A-Z_]*[[:space:]]*\("[^"]*"\).*/\1/p' "$top/daemon/protocol.h" | sort)
}
check "polkit knows every action of protocol.h" actions
check "allowed by polkit: reload" status 0 "${n[@]}" reload
check "allowed by polkit: set" status 0 "${n[@]}" set DefaultProfile=realtime
stands()
{
	[ "$(cat "$H/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us")" = "$1" ]
}
check "what was allowed reached the CPUs" stands n/a
check "denied by polkit: set --reset" says 1 "cpuidlectl: polkit does not allow this" "${n[@]}" set --reset
check "what was denied did not" stands n/a
check "root is not asked" status 0 ctl set --reset
check "root: it reached the CPUs" stands 20
bad()
{
	printf '[Daemon]\nDefaultProfile=nowhere\n' | policy
	says 3 "error:" "${n[@]}" reload
	local r=$?
	printf '[Daemon]\nDefaultProfile=low-latency\n' | policy
	return $r
}
check "allowed by polkit, and a bad file: every error comes through" bad
check "the private socket knows no polkit" says 1 "cpuidlectl: only root may do this on the private socket" \
	"${n[@]}" --socket "$H/run/cpuidled/bus" reload

# ---- holds of nobody, by its name on the bus: of a command, and of a program with the library ----
cp "$B/tests/holder" "$B"/lib/libcpuidled.so.0 "$T/bin/"
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --) # itself, for its pid
held()
{
	"${as_nobody[@]}" "$T/bin/cpuidlectl" hold --latency 12us --cpus 1 --reason mine -- sleep 1000 &
	local pid=$! r
	wait_for stands 12 && says 0 "uid 65534" ctl list-holds && says 0 "pid $pid" ctl list-holds
	r=$?
	kill -KILL "$pid"
	wait_for stands 20 && return $r
}
check "allowed by polkit: hold, gone with the killed command" held
library()
{
	rm -f "$T/holder"
	mkfifo "$T/end"
	LD_LIBRARY_PATH=$T/bin "${as_nobody[@]}" "$T/bin/holder" - 3 1 11000 <"$T/end" >"$T/holder" &
	local pid=$! end r
	exec {end}>"$T/end"
	wait_for grep -q ready "$T/holder" && stands 11 && says 0 "pid $pid" ctl list-holds
	r=$?
	kill -KILL "$pid"
	exec {end}>&-
	rm "$T/end"
	cat "$T/holder"
	wait_for stands 20 && return $r
}
check "allowed by polkit: the library, gone with the killed program" library
check "denied by polkit: hold of a profile" says 1 "cpuidlectl: polkit does not allow this" \
	"${n[@]}" hold --profile realtime -- true
own()
{
	local id
	id=$("${n[@]}" hold --latency 12us --cpus 1 --ttl 1h | cut -d' ' -f2) && stands 12 && "${n[@]}" release "$id" && stands 20
}
check "nobody ends what nobody holds, unasked" own
ctl hold --latency 12us --cpus 1 --ttl 1h -q
check "denied by polkit: release of what root holds" says 1 "cpuidlectl: polkit does not allow this" \
	"${n[@]}" release "$(ctl list-holds | cut -d: -f1)"
check "it stands" stands 12
check "root ends it" ctl release "$(ctl list-holds | cut -d: -f1)"
check "gone" stands 20
stop_polkit

start_polkit org.cpuidled1.reset-settings >"$T/.output" 2>&1
tap_result $? "polkitd starts with other rules"
check "allowed by polkit: set --reset" status 0 "${n[@]}" set --reset
check "denied by polkit: reload" says 1 "cpuidlectl: polkit does not allow this" "${n[@]}" reload
check "denied by polkit: set" says 1 "cpuidlectl: polkit does not allow this" "${n[@]}" set DefaultProfile=realtime
check "what was denied did not reach the CPUs" stands 20

# ---- polkit hangs, and its askers are many ----
kill -STOP "$polkit_pid"
hangs()
{
	local i asked=()
	for ((i = 0; i < 10; i++)); do
		"${n[@]}" reload >/dev/null 2>"$T/asked$i" &
		asked+=($!)
	done
	sleep 0.5
	says 0 ACTIVE ctl status && status 0 ctl reload
	local r=$?
	kill -CONT "$polkit_pid"
	wait "${asked[@]}"
	cat "$T"/asked*
	[ $r = 0 ] && grep -q "too many of your requests wait for polkit" "$T"/asked*
}
check "while polkit hangs, root is served and one user's questions are bounded" hangs
gone()
{
	kill -STOP "$polkit_pid"
	"${n[@]}" set DefaultProfile=realtime 2>/dev/null &
	local pid=$!
	sleep 0.3
	kill $pid
	wait $pid 2>/dev/null
	kill -CONT "$polkit_pid"
	says 0 ACTIVE ctl status && stands 20
}
check "a caller that dies while polkit thinks does no harm" gone
stop_polkit
check "without polkit: others are refused" says 1 "only root may do this: polkit" "${n[@]}" reload
check "without polkit: root is served" status 0 ctl reload
stop_daemon
tap_result $? "the daemon ends well"
finish
