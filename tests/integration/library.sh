#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libcpuidled as a program finds it: installed, found by pkg-config, its example built with nothing else, run against the
# real daemon.
set -u
# shellcheck source-path=SCRIPTDIR source=buslib.sh
. "$(dirname "$0")/buslib.sh"

make_host aml-y-2
start_daemon >"$T/.output" 2>&1
tap_result $? "the daemon starts"
check "cmake --install" env DESTDIR="$T/root" cmake --install "$B"
pc=$(find "$T/root" -name libcpuidled.pc)
check "there is one .pc file" test "$(wc -w <<<"$pc")" = 1
export PKG_CONFIG_SYSROOT_DIR=$T/root PKG_CONFIG_LIBDIR=${pc%/*}
check "pkg-config: the project's version" test "$(pkg-config --modversion libcpuidled)" = \
	"$(sed -n 's/^project(cpuidled VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")"
read -ra flags <<<"$(pkg-config --cflags --libs libcpuidled)"
compiler=${CC:-cc}
extra=()
[[ $B != *asan* ]] || { compiler=clang extra=("-fsanitize=address,undefined"); }
source=$T/root$(sed -n 's/^prefix=//p' "$pc")/share/doc/cpuidled/example.c
check "the example builds with a plain compiler, without a warning" \
	"$compiler" -Wall -Wextra -Werror -std=c99 -D_GNU_SOURCE "${extra[@]}" -o "$T/example" "$source" "${flags[@]}"
printf '#include <cpuidled.h>\nstruct cpuidled_ask ask = CPUIDLED_ASK;\nint open_it(cpuidled **c);\nint open_it(cpuidled **c) { return cpuidled_open(0, c); }\n' >"$T/try.cc"
check "its header is C++ as well" "$compiler" -x c++ -c -Wall -Wextra -Werror "${flags[0]}" -o "$T/try.o" "$T/try.cc"
soname()
{
	readelf -d "${pc%/*}/../libcpuidled.so" | grep -q 'soname: \[libcpuidled\.so\.0\]'
}
check "the soname is libcpuidled.so.0" soname
check "it gives away its own names alone" diff <(nm -D --defined-only "${pc%/*}/../libcpuidled.so" | awk '$2 == "T" { print $3 }' | sort) \
	<(grep -oE '\bcpuidled_[a-z]+\(' "$top/lib/cpuidled.h" | tr -d '(' | sort -u)
LD_LIBRARY_PATH=$(readlink -f "${pc%/*}/..")
export LD_LIBRARY_PATH
stands()
{
	[ "$(cat "$H/sys/devices/system/cpu/cpu$1/power/pm_qos_resume_latency_us")" = "$2" ]
}
runs()
{
	mkfifo "$T/in"
	"$T/example" 2-3 10000 "$H/run/cpuidled/bus" <"$T/in" >"$T/said" &
	local pid=$! in
	exec {in}>"$T/in"
	wait_for grep -q 'hold 1 stands' "$T/said" && stands 2 10 && stands 3 10 && stands 1 0 || return
	echo >&"$in"
	exec {in}>&-
	wait "$pid" && wait_for stands 2 0
}
check "it holds, and ends its hold" runs
# An address of a socket has room for 107 bytes; the path need not end there.
far=$T/$(printf '%0100d' 0)
mkdir "$far" && ln -s "$H/run/cpuidled/bus" "$far/bus"
check "over a path of $(wc -c <<<"$far/bus") bytes" says 1 "not held: CPUs '0-': " "$T/example" 0- 10000 "$far/bus"
# One whose own name is too long must not become another's by being cut.
ln -s "$H/run/cpuidled/bus" "$far/$(printf '%063d' 0)"
check "a name that is too long is not cut" says 4 "no cpuidled: " "$T/example" 0 10000 "$far/$(printf '%080d' 0)"
check "words of the daemon come through" says 1 "not held: CPUs '0-': " "$T/example" 0- 10000 "$H/run/cpuidled/bus"
stop_daemon
tap_result $? "the daemon ends well"
check "without a daemon" says 4 "no cpuidled: " "$T/example" 0 10000 "$H/run/cpuidled/bus"
finish
