#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cpuidled.service: what systemd itself says of it, and that it allows what the daemon does.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unit=$build/systemd/cpuidled.service

# The unit as installed, with programs that are there.
sed -e "s|^\(Exec[A-Za-z]*=\)[^ ]*/cpuidled|\1$build/sbin/cpuidled|" \
	-e "s|^\(Exec[A-Za-z]*=\)[^ ]*/cpuidlectl|\1$build/bin/cpuidlectl|" "$unit" >"$T/cpuidled.service"

verify_clean()
{
	# Documentation= names pages that are installed with it.
	SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no "$T/cpuidled.service" 2>&1 | tee "$T/said"
	[ "${PIPESTATUS[0]}" = 0 ] && ! grep cpuidled.service "$T/said"
}

exposure()
{
	local tenths
	systemd-analyze security --offline=true --no-pager "$T/cpuidled.service" >"$T/security" || true
	tenths=$(sed -n 's/.*Overall exposure level.*: \([0-9]*\)\.\([0-9]\).*/\1\2/p' "$T/security")
	echo "exposure $tenths tenths"
	[ -n "$tenths" ] && [ "$tenths" -le 20 ]
}

# Each line that allows something has a comment above it: a block starts with why.
allowances_have_reasons()
{
	local key
	for key in CapabilityBoundingSet ProtectKernelTunables DevicePolicy RestrictAddressFamilies ProtectProc UMask SystemCallFilter RuntimeDirectory; do
		grep -B 1 -m 1 "^$key=" "$unit" | head -n 1 | grep -q '^#' || { echo "$key: no reason"; return 1; }
	done
	! grep '^Conflicts=' "$unit"
}

# @system-service without what SystemCallFilter=~ takes out, as this systemd knows them.
allowed_calls()
{
	set_of() { systemd-analyze syscall-filter --no-pager "$1" | sed -n 's/^ *\([@a-z_0-9-]*\)$/\1/p' | grep -v "^$1$"; }
	expand() { local x; for x in $(set_of "$1"); do case $x in @*) expand "$x" ;; *) echo "$x" ;; esac; done; }
	expand @system-service | sort -u >"$T/service"
	local s
	for s in $(sed -n 's/^SystemCallFilter=~//p' "$unit"); do expand "$s"; done | sort -u >"$T/denied"
	comm -23 "$T/service" "$T/denied" >"$T/allowed"
	[ -s "$T/allowed" ] && [ -s "$T/denied" ]
}

# Start, foreign write, reload, stop and restore use nothing else. What comes before main() is the loader's.
calls_are_allowed()
{
	local bad=
	tree dnv0
	policy p '[Daemon]' 'DefaultProfile=p' 'GlobalLatencyLimit=30us' '[Profile p]' 'LatencyLimit=20us' 'DisableStates=C1E'
	allowed_calls || return 1
	wrap="strace -D -f -o $T/trace" start --root "$T/tree" --policy "$T/p.conf" || return 1
	echo 0 >"$(qos 4)"
	await 'none -> 20us' || return 1
	sed -i s/20us/25us/ "$T/p.conf"
	kill -HUP "$pid"
	await 'reload done' && stop || return 1
	strace -f -o "$T/trace2" "$daemon" --root "$T/tree" --restore || return 1
	sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$T/trace" "$T/trace2" | sort -u >"$T/used"
	for call in $(comm -23 "$T/used" "$T/allowed"); do
		case $call in
		# Allowed to every service by systemd itself (@default), or before any filter is set.
		execve | arch_prctl | set_tid_address | set_robust_list | rseq | exit_group | access) ;;
		*) bad="$bad $call" ;;
		esac
	done
	echo "$(wc -l <"$T/used") different calls; not allowed:$bad"
	[ -z "$bad" ] && grep -q timerfd_settime "$T/used" && grep -q inotify_add_watch "$T/used"
}

installs_where_told()
{
	cmake -S "$top" -B "$T/build" -DCPUIDLED_UNITDIR=/opt/units -DBUILD_TESTING=OFF >"$T/cmake" || { cat "$T/cmake"; return 1; }
	grep -q '/opt/units' "$T/build/systemd/cmake_install.cmake"
}

if command -v systemd-analyze >/dev/null; then
	check "systemd-analyze verify" verify_clean
	check "exposure is at most 2.0" exposure
	if can_trace; then
		check "the system calls used are allowed" calls_are_allowed
	else
		skip "the system calls used are allowed" "$why"
	fi
else
	skip "systemd-analyze verify, exposure" "no systemd-analyze"
fi
check "each allowance has its reason; no Conflicts=" allowances_have_reasons
check "the unit goes where CPUIDLED_UNITDIR says" installs_where_told
finish
