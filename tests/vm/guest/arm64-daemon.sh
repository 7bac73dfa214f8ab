#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The project built for another machine, on that machine: the daemon with a policy, asked by the client,
# without the module. Where psci_idle has states the kernel's counters say what is entered, and the module
# has a reason to keep off; where there is no idle driver both say so, and the limit is kept all the same.
#
# guests: qemu-arm-psci-6.12 qemu-arm-none-6.1
# more: qemu-arm-psci-6.1 qemu-arm-none-6.12
# needs: daemon module kmodctl
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

disabled()
{
	cat "$cpu/cpu$1/cpuidle/state$2/disable"
}

mended()
{
	[ "$(disabled 1 1)" = 1 ]
}

mkdir -p /etc/cpuidled/cpuidled.conf.d
cat >/etc/cpuidled/cpuidled.conf.d/50-guest.conf <<'END'
[Profile tight]
LatencyLimit=150us
[Profile less]
DisableStates=standby
[Group zero]
CPUs=0
Profile=tight
[Group one]
CPUs=1
Profile=less
END

is "the machine" "$(uname -m)" aarch64
case $CPUIDLED_GUEST in
qemu-arm-psci-*)
	is "an idle host enters retention on both" "$(entered 0 2) $(entered 1 2)" "yes yes"
	start
	sed 's/^/# status: /' /run/status
	has "status names the driver" "$(cat /run/status)" psci_idle
	has "and the backend" "$(cat /run/status)" "set by sysfs"
	is "CPU 0's limit is in its file" "$(qos 0)" 150
	is "standby is off on CPU 1, and there alone" "$(disabled 0 1) $(disabled 1 1)" "0 1"
	is "CPU 0 enters no retention, CPU 1 does" "$(entered 0 2) $(entered 1 2)" "no yes"
	is "CPU 1 enters no standby" "$(entered 1 1)" no
	cpuidlectl plan >/run/plan
	is "plan" $? 0
	sed 's/^/# plan: /' /run/plan
	cpuidlectl explain 0 >/run/explain
	is "explain" $? 0
	has "it names the state that the limit is above" "$(cat /run/explain)" standby
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	echo 0 >$cpu/cpu1/cpuidle/state1/disable
	echo 0 >$cpu/cpu1/cpuidle/state1/disable
	until_true mended
	is "somebody's own value for CPU 1 is answered" "$(disabled 1 1)" 1
	has "and told" "$(cat $log)" "CPU 1: somebody set state1/disable from 1 to 0"
	kill "$pid"
	until_true gone
	is "stopped: the files are as they were" "$(qos 0) $(disabled 1 1)" "0 0"
	is "and both enter retention again" "$(entered 0 2) $(entered 1 2)" "yes yes"

	# the module refuses this driver, the daemon says why and goes on with the files
	/kmodctl snapshot >/run/before
	insmod /cpuidle_policy.ko
	has "a row is refused" "$(/kmodctl try "cpus=0 count=1")" "these are not hooked"
	sed -i '/^LatencyLimit/a C1Interrupts=window' /etc/cpuidled/cpuidled.conf.d/50-guest.conf
	start
	sed 's/^/# status: /' /run/status
	cpuidlectl explain 0 >/run/explain
	sed 's/^/# explain: /' /run/explain
	has "the log has the module's reason" "$(cat $log)" "limits only, no policy: on arm64 each CPU has"
	has "explain says what comes of the window" "$(cat /run/explain)" \
		"the loaded cpuidle_policy.ko cannot do it here"
	has "the module keeps the limit all the same" "$(/kmodctl qos)" 150000
	is "CPU 0 enters no retention, CPU 1 does" "$(entered 0 2) $(entered 1 2)" "no yes"
	kill "$pid"
	until_true gone
	rmmod cpuidle_policy
	is "and the module can go" $? 0
	/kmodctl snapshot >/run/after
	sed 's/^/# snapshot: /' /run/after
	# 6.1 for arm64 has no symbols of its data
	if [ "$CPUIDLED_GUEST" = qemu-arm-psci-6.12 ]; then
		has "the drivers can be read" "$(cat /run/after)" "driver psci_idle"
		is "each CPU's driver and table are as before" "$(diff /run/before /run/after)" ""
	fi
	;;
*)
	is "no idle driver" "$(cat $cpu/cpuidle/current_driver)" none
	start
	sed 's/^/# status: /' /run/status
	has "status says so" "$(cat /run/status)" "driver none"
	has "plan says so" "$(cpuidlectl plan)" "there is no cpuidle driver for these CPUs"
	has "and explain" "$(cpuidlectl explain 0)" "there are no idle states to choose from"
	has "and the log what comes of the limit" "$(cat $log)" "takes effect once there is a driver"
	is "CPU 0's limit is in its file" "$(qos 0)" 150
	cpuidlectl verify >/run/verify
	is "verify finds no difference" $? 0
	kill "$pid"
	until_true gone
	is "stopped: the file is as it was" "$(qos 0)" 0
	;;
esac
is "the log has no error" "$(grep -ciw error $log)" 0
sed 's/^/# log: /' $log | tail -n 20
echo "1..$count"
