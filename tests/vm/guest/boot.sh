#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Is each guest what the table promises? A guest whose CPU lost a flag, or whose driver did not
# register, would let every later test pass for the wrong reason.
#
# guests: qemu-none-6.1 qemu-acpi-6.1 qemu-acpi-noarat-6.1
# guests: qemu-none-6.12 qemu-acpi-6.12
# guests: bochs-spr-6.1 bochs-spr-6.12 bochs-spr2-6.1 bochs-skx-6.1 bochs-none-6.1 bochs-acpi-6.1
# more: qemu-suspend-6.12 qemu-suspend-none-6.1 qemu-systemd-6.1 qemu-systemd-6.12 qemu-acpi-noarat-6.12 qemu-arm-none-6.1 qemu-arm-none-6.12 qemu-arm-psci-6.1 qemu-arm-psci-6.12
# debug: qemu-none-debug qemu-acpi-debug qemu-acpi-noarat-debug qemu-suspend-debug qemu-suspend-none-debug bochs-spr-debug
count=0
check()
{
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1: $2"
	else
		echo "not ok $count - $1: '$2', wanted '$3'"
	fi
}
cpu=/sys/devices/system/cpu
states()
{
	cat $cpu/cpu0/cpuidle/state*/name 2>/dev/null | tr '\n' ' ' | sed 's/ $//'
}
flag()
{
	grep -q "^flags.*\b$1\b" /proc/cpuinfo && echo yes || echo no
}
broadcast()
{
	sed -n 's/^tick_broadcast_mask: //p' /proc/timer_list
}
moved()
{
	before=$(cat $cpu/cpu0/cpuidle/state*/usage | tr '\n' ' ')
	sleep 1
	after=$(cat $cpu/cpu0/cpuidle/state*/usage | tr '\n' ' ')
	[ "$before" != "$after" ] && echo yes || echo no
}

driver=$(cat $cpu/cpuidle/current_driver)
case $CPUIDLED_GUEST in
*-6.12) check kernel "$(uname -r | cut -d. -f1,2)" 6.12 ;;
*-6.1) check kernel "$(uname -r | cut -d. -f1,2)" 6.1 ;;
*-debug)
	check kernel "$(uname -r | cut -d. -f1,2)" 6.1
	check lockdep "$(sed -n 's/^ *debug_locks: *//p' /proc/lockdep_stats)" 1
	check KASAN "$(dmesg | grep -c 'kasan: KernelAddressSanitizer initialized')" 1
	check "leaks can be looked for" "$(ls /sys/kernel/debug/kmemleak)" /sys/kernel/debug/kmemleak
	;;
esac
case $CPUIDLED_GUEST in
qemu-none-* | qemu-suspend-none-* | bochs-none-* | qemu-arm-none-*)
	check driver "$driver" none
	;;
qemu-acpi-* | qemu-suspend-* | qemu-systemd-*)
	check driver "$driver" acpi_idle
	check states "$(states)" "POLL C1 C2"
	check C1 "$(cat $cpu/cpu1/cpuidle/state1/desc)" "ACPI HLT"
	check C2 "$(cat $cpu/cpu1/cpuidle/state2/desc)" "ACPI IOPORT 0x80"
	check "states are used" "$(moved)" yes
	case $CPUIDLED_GUEST in
	*noarat*)
		check "the local timer runs in C2 (ARAT)" "$(flag arat)" no
		check "CPUs woken by the broadcast timer" "$(broadcast)" 3
		;;
	*)
		check "the local timer runs in C2 (ARAT)" "$(flag arat)" yes
		check "CPUs woken by the broadcast timer" "$(broadcast)" 0
		;;
	esac
	;;
qemu-arm-psci-*)
	check driver "$driver" psci_idle
	check states "$(states)" "WFI standby retention"
	check "states are used" "$(moved)" yes
	;;
bochs-acpi-*)
	check driver "$driver" acpi_idle
	check states "$(states)" "POLL C1 C2"
	check C2 "$(cat $cpu/cpu0/cpuidle/state2/desc)" "ACPI FFH MWAIT 0x20"
	check "states are used" "$(moved)" yes
	;;
bochs-spr*)
	check driver "$driver" intel_idle
	check states "$(states)" "POLL C1 C1E C6"
	check "states are used" "$(moved)" yes
	;;
bochs-skx-*)
	check driver "$driver" intel_idle
	check states "$(states)" "POLL C1 C1E C6"
	check "states are used" "$(moved)" yes
	;;
*)
	check "the guest's name is known" "$CPUIDLED_GUEST" known
	;;
esac
case $CPUIDLED_GUEST in
qemu-arm-*)
	check machine "$(uname -m)" aarch64
	check "WFE ends with the event stream" \
		"$(grep -q '^Features.*evtstrm' /proc/cpuinfo && echo yes)" yes
	;;
bochs-skx-* | qemu-*) check waitpkg "$(flag waitpkg)" no ;;
bochs-*)
	check waitpkg "$(flag waitpkg)" yes
	check "UMWAIT limit" "$(cat $cpu/umwait_control/max_time)" 100000
	;;
esac
case $CPUIDLED_GUEST in
qemu-systemd-*) check systemd "$(systemctl is-system-running --wait)" running ;;
esac
echo "1..$count"
echo "# guest done"
