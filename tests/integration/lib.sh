# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# shellcheck disable=SC2034 # used by the scripts
# For tests with the real daemon, on recorded trees and on this machine. Sourced with the build folder in
# CPUIDLED_BUILD; nothing here waits by the clock: the daemon's own lines say when something has happened.

# shellcheck source-path=SCRIPTDIR source=../tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
build=${CPUIDLED_BUILD:?the build folder}
daemon=$build/sbin/cpuidled
# strace and LeakSanitizer exclude each other.
export ASAN_OPTIONS=detect_leaks=0

# tree HOST [CPUS]: a recorded server in $T/tree, fresh, with limits of others and a cpu_dma_latency of its own;
# with CPUS only so many CPUs of it, where each write has to be walked.
tree()
{
	local base=$T/$1${2:-} cpu last
	if [ ! -d "$base" ]; then
		"$top/tests/hosts/unpack" "$top/tests/hosts/$1.sysfs.gz" "$base"
		last=$(cut -d- -f2 "$base/sys/devices/system/cpu/present")
		if [ $# = 2 ]; then
			for ((cpu = $2; cpu <= last; cpu++)); do
				rm -r "$base/sys/devices/system/cpu/cpu$cpu"
			done
			# recordings are read-only where the kernel is, which only root does not notice
			chmod u+w "$base"/sys/devices/system/cpu/{present,online}
			echo "0-$(($2 - 1))" | tee "$base/sys/devices/system/cpu/present" >"$base/sys/devices/system/cpu/online"
		fi
		mkdir "$base/dev"
		printf '\000\224\065\167' >"$base/dev/cpu_dma_latency"
		limits "$base"
	fi
	rm -rf "$T/tree"
	cp -r "$base" "$T/tree"
}

limits()
{
	local cpu=$1/sys/devices/system/cpu/cpu file=power/pm_qos_resume_latency_us
	echo 5 >"${cpu}1/$file"
	echo n/a >"${cpu}2/$file"
	[ ! -e "${cpu}3" ] || echo 100 >"${cpu}3/$file"
}

# umwait: gives the tree the files of a CPU with UMWAIT
umwait()
{
	local dir=$T/tree/sys/devices/system/cpu/umwait_control
	mkdir -p "$dir"
	echo 1 >"$dir/enable_c02"
	echo 100000 >"$dir/max_time"
}

qos()
{
	echo "$T/tree/sys/devices/system/cpu/cpu$1/power/pm_qos_resume_latency_us"
}

# haltpoll: gives it the kernel's governor haltpoll, in a guest
haltpoll()
{
	local dir=$T/tree/sys/module/haltpoll/parameters
	mkdir -p "$dir"
	echo haltpoll >"$T/tree/sys/devices/system/cpu/cpuidle/current_governor"
	echo 200000 >"$dir/guest_halt_poll_ns"
}

# What a tree holds, run-time files apart.
state()
{
	(cd "${1:-$T/tree}" && find sys dev -type f \( -name pm_qos_resume_latency_us -o -name disable -o -name cpu_dma_latency -o -path '*/umwait_control/*' -o -name 'guest_halt_poll_*' \) |
		sort | xargs md5sum)
}

# policy NAME LINES...: a policy file $T/NAME.conf
policy()
{
	printf '%s\n' "${@:2}" >"$T/$1.conf"
}

# start ARGS...: the daemon (below $wrap, with a bus if bus is set empty) in the background, up to where it governs (or has ended). Its lines: $T/log
start()
{
	rm -f "$T/pipe"
	mkfifo "$T/pipe"
	: >"$T/log"
	# shellcheck disable=SC2086 # wrap and bus are words
	${wrap:-} "$daemon" ${bus---no-bus} "$@" 2>"$T/pipe" &
	pid=$!
	exec {lines}<"$T/pipe"
	await ' governs '
}

# await PATTERN: reads the daemon's lines until one has it. Fails when the daemon ends or after 20 s.
await()
{
	local line
	while IFS= read -r -t 20 line <&"$lines"; do
		printf '%s\n' "$line" >>"$T/log"
		[[ $line =~ $1 ]] && return 0
	done
	return 1
}

# The rest of its lines, until it ends.
drain()
{
	cat <&"$lines" >>"$T/log"
	exec {lines}<&-
}

# stop [SIGNAL]: ends it and returns its exit status.
stop()
{
	local status=0
	kill -"${1:-TERM}" "$pid"
	drain
	wait "$pid" || status=$?
	pid=
	return "$status"
}

# What is left running when a case failed in the middle.
cleanup()
{
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null
	rm -rf "$T"
}
pid=
trap cleanup EXIT

logged()
{
	grep -Eq -- "$1" "$T/log" || { echo "no line has: $1"; cat "$T/log"; return 1; }
}

# For the real files of this machine: one test at a time, and everybody's limits are gone afterwards.
host_cpus=/sys/devices/system/cpu
host_wanted()
{
	[ "$(id -u)" = 0 ] || { why="not root"; return 1; }
	[ -w $host_cpus/cpu0/power/pm_qos_resume_latency_us ] || { why="no pm_qos_resume_latency_us"; return 1; }
	[ -c /dev/cpu_dma_latency ] || { why="no /dev/cpu_dma_latency"; return 1; }
	[ -e /sys/devices/system/cpu/cpuidle/.. ] || { why="no sysfs"; return 1; }
	exec {host_lock}>/run/lock/cpuidled-test-host
	flock "$host_lock"
}

# What this machine's files hold: each CPU's limit, then the effective global one in us.
host_state()
{
	cat $host_cpus/cpu*/power/pm_qos_resume_latency_us
	od -An -td4 -N4 /dev/cpu_dma_latency
}
