# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For the tests of bus and client: a recorded server as a tree, the daemon on it, a private bus daemon as system bus,
# polkit on that. Everything started here ends with the script. $B is the build tree.

# shellcheck source-path=SCRIPTDIR source=../tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
B=${CPUIDLED_BUILD:?the build tree}
H=$T/host
SYSTEM_BUS=unix:path=$T/system_bus
# shellcheck disable=SC2034 # used by the scripts
MANAGER="org.cpuidled1 /org/cpuidled1 org.cpuidled1.Manager"
pids=()

stop_all()
{
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$T"
}
trap stop_all EXIT
unset DBUS_SYSTEM_BUS_ADDRESS DBUS_SESSION_BUS_ADDRESS NOTIFY_SOCKET JOURNAL_STREAM

# Others have to reach the client and the socket; the build tree may lie in somebody's home.
chmod 755 "$T"
mkdir "$T/bin"
cp "$B/bin/cpuidlectl" "$T/bin/"

ctl()
{
	"$B/bin/cpuidlectl" "$@"
}

# Somebody who is not root.
nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

is_root()
{
	[ "$(id -u)" = 0 ]
}

# wait_for COMMAND ...: up to ten seconds.
wait_for()
{
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	echo "waited in vain for: $*"
	return 1
}

# status N COMMAND ...: the exit status is N.
status()
{
	local want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] && return 0
	echo "exit status $got, not $want: $*"
	return 1
}

# says STATUS TEXT COMMAND ...: ends so, with TEXT in what it prints, and every line of standard error is its own.
says()
{
	local want=$1 text=$2
	shift 2
	status "$want" "$@" >"$T/out" 2>"$T/err" || {
		cat "$T/out" "$T/err"
		return 1
	}
	cat "$T/out" "$T/err"
	grep -qF -- "$text" "$T/out" "$T/err" || {
		echo "nothing says: $text"
		return 1
	}
}

# json VERB COMMAND ...: what it prints keeps to the schema of VERB.
json()
{
	local verb=$1
	shift
	"$@" >"$T/json" || return
	python3 "$top/tests/integration/validate.py" "$top/etc/schemas/$verb.json" <"$T/json"
}

# value EXPRESSION: Python about d, the last document of json().
value()
{
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else f"{sys.argv[2]}: no")' \
		"$T/json" "$1"
}

make_host()
{
	"$top/tests/hosts/unpack" "$top/tests/hosts/$1.sysfs.gz" "$H"
	mkdir -p "$H/etc/cpuidled"
	policy <"/dev/null"
}

# The host's policy, from standard input.
policy()
{
	cat >"$H/etc/cpuidled/cpuidled.conf"
}

start_daemon()
{
	"$B/sbin/cpuidled" --root "$H" "$@" >"$T/daemon.log" 2>&1 &
	daemon_pid=$!
	pids+=("$daemon_pid")
	wait_for ctl --root "$H" status || {
		cat "$T/daemon.log"
		return 1
	}
}

stop_daemon()
{
	kill "$daemon_pid"
	wait "$daemon_pid"
}

# As Debian's system bus: nobody may own a name or call a service unless a file of ours says so.
start_bus()
{
	cat >"$T/bus.conf" <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
 <type>system</type>
 <listen>$SYSTEM_BUS</listen>
 <auth>EXTERNAL</auth>
 <policy context="default">
  <allow user="*"/>
  <deny own="*"/>
  <deny send_type="method_call"/>
  <allow send_type="signal"/>
  <allow send_requested_reply="true" send_type="method_return"/>
  <allow send_requested_reply="true" send_type="error"/>
  <allow receive_type="method_call"/>
  <allow receive_type="method_return"/>
  <allow receive_type="error"/>
  <allow receive_type="signal"/>
  <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
  <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
  <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
 </policy>
 <policy user="root">
  <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Monitoring"/>
 </policy>
 <include ignore_missing="yes">/usr/share/dbus-1/system.d/org.freedesktop.PolicyKit1.conf</include>
 <include>$top/etc/org.cpuidled1.conf</include>
</busconfig>
END
	dbus-daemon --config-file="$T/bus.conf" --nofork --nopidfile >"$T/bus.log" 2>&1 &
	bus_pid=$!
	pids+=("$bus_pid")
	export DBUS_SYSTEM_BUS_ADDRESS=$SYSTEM_BUS
	wait_for busctl --system list
}

on_bus()
{
	wait_for busctl --system status org.cpuidled1
}
