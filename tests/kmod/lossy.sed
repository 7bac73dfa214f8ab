# SPDX-License-Identifier: GPL-2.0-only
#
# Makes of kmod/enter.c one that loses wake-ups: the monitor is armed after the last look at the flags, and a
# little later. A test that does not see this one does not see anything.
/^static __always_inline void enter_umwait/,/^}/{
	/x86_umonitor/d
	s/^\(\t*\)if (!x86_umwait(depth, end))/\1for (int i = 0; i < 40; i++)\n\1\tcpu_relax();\n\1x86_umonitor(\&current_thread_info()->flags);\n&/
}
