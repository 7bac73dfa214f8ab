#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The host changes under the daemon and the module: the firmware takes C2 away and brings it back (a real
# notification, see acpi/cst.dsl), for which the kernel writes the driver's table anew, the hook with it; and a
# CPU comes that nobody has planned for yet.
#
# guests: qemu-acpi-6.1
# more: qemu-acpi-6.12
# debug: qemu-acpi-debug
# needs: module kmodctl daemon
# seconds: 1800
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

# The firmware's next set of C-states.
next_set()
{
	cat /sys/bus/acpi/devices/TEST0001:00/hrv
}

states()
{
	cat $cpu/cpu1/cpuidle/state*/name 2>/dev/null | tr '\n' ' ' | sed 's/ $//'
}

states_are()
{
	[ "$(states)" = "$1" ]
}

# Do our functions stand in every row of the driver's table?
hooked()
{
	[ "$(/kmodctl caps | grep -c '^state')" = \
		"$(/kmodctl caps | grep -c '^state.* flags 0x[0-9a-f]*[4-7c-f].$')" ]
}

config_has()
{
	/kmodctl config | grep -q "$1"
}

# Once round: what the kernel itself leaves behind in its table is in the picture already.
next_set >/dev/null
next_set >/dev/null
until_true states_are "POLL C1"
next_set >/dev/null
until_true states_are "POLL C1 C2"
sleep 1
/kmodctl snapshot >/run/before

# ---- the firmware
mkdir -p /etc/cpuidled/cpuidled.conf.d
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile zero]
C1Interrupts=window
DisableStates=C2
[Profile one]
C1Interrupts=window
[Group zero]
CPUs=0
Profile=zero
[Group one]
CPUs=1
Profile=one
END
insmod /cpuidle_policy.ko
start
cpuidlectl set --cpus 1 DisableStates=C2 >/dev/null
cpuidlectl monitor --json >/run/told 2>/dev/null &
until_true config_has "cpus 00000003 window 0x2 .* off 0x4"
is "C2 is off on both" "$(entered 0 2) $(entered 1 2)" "no no"
/kmodctl monitor >/run/events &
monitor=$!
next_set >/dev/null
next_set >/dev/null
until_true states_are "POLL C1"
is "the firmware takes C2 away" "$(states)" "POLL C1"
until_true hooked
is "the module stands in the new table" "$(hooked && echo yes)" yes
is "and tells of it" "$(grep -q '^event 16 ' /run/events && echo yes)" yes
sleep 1
has "the daemon knows" "$(cpuidlectl explain 0)" "acpi_idle offers POLL 0, C1 1us by HALT"
is "what is left of the plan is in force" "$(/kmodctl config | sed 's/ bcast.*//' | tr '\n' ' ')" \
	"cpus 00000003 window 0x2 sti 0 off 0 "
has "monitor says which states are left" "$(grep '"table"' /run/told)" "CPUs 0-1: states POLL C1 C2 -> POLL C1"
has "and why" "$(grep '"table"' /run/told)" '"why":"cpuidle_policy tells of another table or other CPUs"'
cpuidlectl set --reset >/dev/null
next_set >/dev/null
until_true states_are "POLL C1 C2"
is "and brings it back" "$(states)" "POLL C1 C2"
until_true config_has "cpus 00000001.* off 0x4"
config_has "cpus 00000001.* off 0x4"
is "the daemon has planned anew: C2 is off on CPU 0" $? 0
until_true hooked
is "which does not enter it, while CPU 1 does" "$(entered 0 2) $(entered 1 2)" "no yes"
cpuidlectl verify >/run/verify
is "verify finds no difference" $? 0
kill "$monitor"
wait "$monitor" 2>/dev/null

# ---- a CPU that was away when the daemon came; the best of some rounds, the emulator's host may be busy
kill "$pid"
until_true gone
limit=100
case $CPUIDLED_GUEST in
*-debug) limit=10000 ;; # a kernel that looks after itself all the time
esac
best=100000000
rounds=0
while [ $rounds -lt 3 ] || { [ $best -gt ${limit}000 ] && [ $rounds -lt 12 ]; }; do
	rounds=$((rounds + 1))
	echo 0 >$cpu/cpu1/online
	start
	config_has "cpus 00000002 window 0x2" && best=unplanned && break
	/kmodctl monitor >/run/events &
	monitor=$!
	sleep 1
	echo 1 >$cpu/cpu1/online
	until_true config_has "cpus 00000002 window 0x2"
	kill "$monitor"
	wait "$monitor" 2>/dev/null
	# from the module's word that it came (15) to its word that the rows changed (13)
	time=$(awk '$2 == 15 { came = $4 } $2 == 13 && came { print $4 - came; exit }' /run/events)
	echo "# round $rounds: ${time:-none} us"
	[ "${time:-$best}" -ge $best ] || best=$time
	kill "$pid"
	until_true gone
done
echo "# best of $rounds rounds: $best us"
[ "$best" -le ${limit}000 ]
is "a CPU that comes has its plan within $limit ms" $? 0
rmmod cpuidle_policy
is "the module can go" $? 0
/kmodctl snapshot >/run/after
cmp -s /run/before /run/after
is "the kernel's memory is as before" $? 0
diff /run/before /run/after | sed 's/^/# /'
sed 's/^/# log: /' $log | tail -n 40
echo "1..$count"
