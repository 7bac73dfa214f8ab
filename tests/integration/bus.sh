#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon on a private system bus with our D-Bus policy file, as busctl sees it; what a hostile peer may do.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

if ! is_root; then
	skip "system bus" "our D-Bus policy lets only root own the name"
	finish
	exit
fi
make_host skld0
cpu=$H/sys/devices/system/cpu
printf '[Group first]\nCPUs=0-1\nProfile=low-latency\n' | policy

# The daemon first: it has to wait for a bus that comes later, without asking again and again.
export DBUS_SYSTEM_BUS_ADDRESS=$SYSTEM_BUS
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts without a system bus"
start_bus >"$T/.output" 2>&1
tap_result $? "a system bus comes up"
check "and gets the name" on_bus

# shellcheck disable=SC2086
bus()
{
	local verb=$1
	shift
	busctl --system --timeout=10 "$verb" $MANAGER "$@"
}
introspected()
{
	busctl --system introspect org.cpuidled1 /org/cpuidled1 org.cpuidled1.Manager >"$T/introspect" || return
	cat "$T/introspect"
	local word
	for word in .GetStatus .GetPolicy .GetPlan .Explain .ListProfiles .Verify .Reload .Set .ResetSettings .Hold .Release .ListHolds; do
		grep -qE "^\\$word +method" "$T/introspect" || return
	done
	for word in .Version .State .Generation .Backends .PolicyFiles .LastError .OnForeignWrite .ForeignWrites; do
		grep -qE "^\\$word +property" "$T/introspect" || return
	done
	grep -qE '^\.Changed +signal +sss ' "$T/introspect" && grep -qE '^\.HoldReleased +signal +us' "$T/introspect"
}
check "busctl introspect: every member" introspected
protocol_documented()
{
	# What protocol.h says is there, and nothing else.
	diff <(sed -n 's/^\.\([A-Za-z]*\) .*/\1/p' "$T/introspect" | sort) \
		<({
			sed -n 's/^ \*   \([A-Z][A-Za-z]*\)(.*/\1/p' "$top/daemon/protocol.h"
			sed -n 's/^ \* Signal \([A-Z][A-Za-z]*\)(.*/\1/p' "$top/daemon/protocol.h"
			sed -n '/Properties with/,/\*\//p' "$top/daemon/protocol.h" | grep -oE '[A-Z][A-Za-z]+ (s|t|as)\b' | cut -d' ' -f1
		} | sort)
}
check "protocol.h and busctl introspect agree" protocol_documented
property()
{
	bus get-property "$1" | tee "$T/out" | grep -qE "$2" && return
	cat "$T/out"
	return 1
}
check "property Version" property Version '^s "0\.'
check "property State" property State '^s "ACTIVE"'
check "property Generation" property Generation '^t 1$'
check "property Backends" property Backends '^as 1 "sysfs"'
check "property PolicyFiles" property PolicyFiles 'etc/cpuidled/cpuidled.conf"'
check "property LastError" property LastError '^s ""'
check "property OnForeignWrite" property OnForeignWrite '^s "(yield|reassert|alert)"'
check "property ForeignWrites" property ForeignWrites '^t 0$'
refuse "a property cannot be written" bus set-property State s ACTIVE

call()
{
	bus call "$@" >"$T/out" 2>&1 && return
	cat "$T/out"
	return 1
}
check "GetStatus" call GetStatus
check "GetPolicy" call GetPolicy
check "GetPlan of all" call GetPlan s ""
check "GetPlan of some" call GetPlan s "0-3"
check "Explain" call Explain s "0"
check "ListProfiles" call ListProfiles
check "Verify at once" call Verify t 0
check "Verify with an observation" call Verify t 50000
check "Reload" call Reload
check "Set" call Set s "[Daemon]
DefaultProfile=low-latency
"
set_stands()
{
	[ "$(cat "$cpu/cpu5/power/pm_qos_resume_latency_us")" = 20 ]
}
check "Set reached the CPUs" set_stands
check "ResetSettings" call ResetSettings

# fails ERROR CALL ...: refused with that D-Bus error; afterwards the daemon answers as before.
fails()
{
	local error=$1
	shift
	if busctl --system --timeout=10 --json=short call org.cpuidled1 /org/cpuidled1 org.cpuidled1.Manager "$@" >"$T/out" 2>&1; then
		echo "not refused"
		return 1
	fi
	cat "$T/out"
	grep -qF "$error" "$T/out" && bus get-property State >"$T/out2" && grep -q ACTIVE "$T/out2"
}
check "GetPlan of junk" fails "CPUs '#!'" GetPlan s '#!'
check "GetPlan of no CPU" fails "selects no CPU" GetPlan s 4000
check "GetPlan of a number too large" fails "CPUs" GetPlan s 99999999999999999999
check "GetPlan of deep brackets" fails "CPUs" GetPlan s "$(printf '(%.0s' {1..500})"
check "Explain of junk" fails "CPUs" Explain s "node:"
long=$(head -c 100000 /dev/zero | tr '\0' x)
check "GetPlan of 100000 letters" fails "CPUs" GetPlan s "$long"
check "Explain of 100000 letters" fails "CPUs" Explain s "$long"
check "Set of 100000 letters" fails "65536 bytes" Set s "$long"
check "Set of junk" fails "error:" Set s "junk"
check "Set of a bad value" fails "run-time settings:2: error:" Set s $'[Daemon]\nDefaultProfile=nowhere\n'
check "Set of control characters" fails "error:" Set s $'[Daemon]\nDefaultProfile=\001\n'
for method in GetStatus GetPolicy ListProfiles Reload ResetSettings; do
	refuse "$method with an argument" call $method s x
done
for method in GetPlan Explain Set Verify; do
	refuse "$method without an argument" call $method
	refuse "$method with a number" call $method u 7
	refuse "$method with an array" call $method as 2 a b
done
# Who goes away frees his place: there are six for observations of different lengths.
verify_and_go()
{
	local i
	for ((i = 1; i <= 8; i++)); do
		status 124 timeout 0.2 busctl --system call org.cpuidled1 /org/cpuidled1 org.cpuidled1.Manager Verify t $((60000000 + i)) || return
	done
	call Verify t 20000
}
check "Verify by eight who do not wait for it" verify_and_go
check "Verify for a day" fails "at most 600 s" Verify t 86400000000
refuse "a method that is not there" call Destroy
refuse "an object that is not there" busctl --system call org.cpuidled1 /org/other org.cpuidled1.Manager GetStatus
many_sets()
{
	# Each adds a group of its own until there is no room; the daemon says so and keeps what stood.
	local i text="" name
	for ((i = 0; i < 40; i++)); do
		printf -v name 'g%03d-%s' $i "$(head -c 30 /dev/zero | tr '\0' n)"
		text+="[Group $name]"$'\n'"CPUs=0"$'\n'"Profile=low-latency"$'\n'
	done
	call Set s "$text" && call ResetSettings
}
check "a Set of forty groups" many_sets

# ---- signals ----
heard()
{
	busctl --system monitor org.cpuidled1 --json=short >"$T/signals" 2>/dev/null &
	local pid=$!
	sleep 0.5
	call Set s $'[Daemon]\nDefaultProfile=realtime\n' || return
	wait_for grep -q '"member":"Changed"' "$T/signals"
	wait_for grep -q '"member":"PropertiesChanged".*"Generation"' "$T/signals"
	local r=$?
	kill $pid
	wait $pid 2>/dev/null
	call ResetSettings
	[ $r = 0 ] && grep -q '"member":"Changed"' "$T/signals"
}
check "signals Changed and PropertiesChanged are sent" heard
client_monitors()
{
	ctl monitor --json >"$T/events" 2>"$T/err" &
	local pid=$!
	sleep 0.5
	call Set s $'[Daemon]\nDefaultProfile=realtime\n'
	wait_for test -s "$T/events"
	kill $pid
	wait $pid 2>/dev/null
	call ResetSettings
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/monitor.json" --lines <"$T/events"
}
check "cpuidlectl monitor on the system bus" client_monitors

# ---- the client by way of the system bus ----
check "cpuidlectl status falls back to the system bus" says 0 ACTIVE ctl status
for verb in show list-profiles plan "explain 0" "verify --interval 100ms" reload "set DefaultProfile=balanced" "set --reset"; do
	# shellcheck disable=SC2086
	check "cpuidlectl $verb on the system bus" status 0 ctl $verb
done
for verb in status show list-profiles plan "explain 0" "verify --interval 100ms"; do
	# shellcheck disable=SC2086
	check "not root: may $verb" status 0 nobody "$T/bin/cpuidlectl" $verb
done
for verb in reload "set DefaultProfile=realtime" "set --reset"; do
	# shellcheck disable=SC2086
	check "not root, no polkit: may not $verb" says 1 "cpuidlectl: only root may do this: polkit" nobody "$T/bin/cpuidlectl" $verb
done
nobody_busctl()
{
	nobody busctl --system call org.cpuidled1 /org/cpuidled1 org.cpuidled1.Manager "$@" >"$T/out" 2>&1
}
check "not root: busctl may call GetStatus" nobody_busctl GetStatus
refuse "not root: busctl may not call Reload" nobody_busctl Reload
refuse "not root: busctl may not call Set" nobody_busctl Set s ""
refuse "not root: busctl may not call ResetSettings" nobody_busctl ResetSettings
refuse "not root: may not take the name" nobody busctl --system call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus RequestName su org.cpuidled1 0

# ---- another host: ssh and its bridge, of which only ssh is replaced here ----
mkdir "$T/ssh"
cat >"$T/ssh/ssh" <<'END'
#!/bin/sh
echo "$*" >>"$0.called"
case "$*" in
*there*) exec systemd-stdio-bridge --bus-path="$DBUS_SYSTEM_BUS_ADDRESS" ;;
*) echo "ssh: no such host" >&2; exit 255 ;;
esac
END
chmod 755 "$T/ssh/ssh"
far()
{
	PATH=$T/ssh:$PATH ctl "$@"
}
if command -v systemd-stdio-bridge >/dev/null; then
	check "-H: status of another host" says 0 ACTIVE far -H there status
	check "-H: plan --json of another host" json plan far --host there plan --json
	check "-H: ssh was called for that host" grep -q "there systemd-stdio-bridge" "$T/ssh/ssh.called"
else
	skip "-H: another host" "systemd-stdio-bridge is not installed"
fi
check "-H: a host that is not reached" says 4 "tried ssh to nowhere" far -H nowhere status

# ---- the system bus goes and comes back ----
kill "$bus_pid"
wait "$bus_pid" 2>/dev/null
check "without the bus the private socket serves on" says 0 ACTIVE ctl --root "$H" status
start_bus >"$T/.output" 2>&1
tap_result $? "the bus comes back"
check "and gets the name again" on_bus
check "and serves" call GetStatus

# ---- a hostile peer on the private socket ----
sanitized=
grep -q __asan_init "$B/sbin/cpuidled" && sanitized=--sanitized
check "hostile peers" python3 "$top/tests/integration/peers.py" "$H/run/cpuidled/bus" "$daemon_pid" $sanitized
check "afterwards the daemon serves on" says 0 ACTIVE ctl --root "$H" status
check "afterwards the plan stands" status 0 ctl --root "$H" verify --interval 0
check "a peer that does not read keeps nobody from stopping it" \
	python3 "$top/tests/integration/peers.py" "$H/run/cpuidled/bus" "$daemon_pid" --stop
stop_daemon 2>/dev/null
tap_result $? "the daemon ends well"

# ---- under the unit's limit of memory ----
limit=$(sed -n 's/^LimitDATA=\([0-9]*\)M$/\1/p' "$top/systemd/cpuidled.service.in")
# A sanitizer needs more address space than that; the daemon as it is shipped is what counts here.
if [ -z "$sanitized" ]; then
	(
		ulimit -d $((limit * 1024)) &&
			exec "$B/sbin/cpuidled" --root "$H" >"$T/daemon.log" 2>&1
	) &
	daemon_pid=$!
	pids+=("$daemon_pid")
	check "the daemon starts under LimitDATA=${limit}M" wait_for ctl --root "$H" status
	check "a message of 120 MB" python3 "$top/tests/integration/peers.py" "$H/run/cpuidled/bus" "$daemon_pid" --large
fi
finish
