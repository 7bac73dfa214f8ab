#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kernel that is locked down, as Secure Boot has it: a module that it took serves as ever, one without a
# signature is refused, and the daemon says so and does by files what can be done by files.
#
# guests: qemu-acpi-6.12
# more: qemu-acpi-6.1
# needs: module daemon
# seconds: 600
# shellcheck source=tests/vm/guest/lib.sh
. /tests/lib.sh

lockdown=/sys/kernel/security/lockdown

# The line that says where the module stands.
module()
{
	cpuidlectl status | grep -i 'cpuidle_policy'
}

stop()
{
	kill "$pid"
	until_true gone
}

mount -t securityfs securityfs /sys/kernel/security
mkdir -p "/lib/modules/$(uname -r)/updates/dkms"
policy all LatencyLimit=40us C1Interrupts=window
cp /cpuidle_policy.ko "/lib/modules/$(uname -r)/updates/dkms/"
depmod

# ---- taken before, as one with a good signature is
insmod /cpuidle_policy.ko
echo integrity >$lockdown
has "the kernel is locked down" "$(cat $lockdown)" "[integrity]"
start
cpuidlectl verify >/run/verified
is "all of the policy is in force" $? 0
has "with the module" "$(cpuidlectl explain 0)" "window"
stop
rmmod cpuidle_policy
is "rmmod" $? 0

# ---- refused
insmod /cpuidle_policy.ko 2>/run/refused
is "no module without a signature comes in" $? 1
cat /run/refused | sed 's/^/# /'
start
has "the daemon says why it has none" "$(module)" \
	"takes signed modules only (kernel lockdown, as with Secure Boot); sign it with a key it trusts"
is "and governs by files" "$(qos 0) $(qos 1)" "40 40"
cpuidlectl verify >/run/verified
is "what files can do is in force" "$(grep -c differs /run/verified)" 0
stop
is "the files are as before" "$(qos 0) $(qos 1)" "0 0"
echo "1..$count"
echo "# guest done"
