#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fuzz.sh BUILD SECONDS: every fuzz target of BUILD (clang, CPUIDLED_FUZZ), as TAP: first all that is
# kept (tests/fuzz/corpus/TARGET, tests/fuzz/regress/TARGET), then SECONDS of new input. What a long
# run learns goes to the cache; what it breaks lies in build/fuzz and belongs into regress.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"
build=$(readlink -f "${1:-$top/build/asan}") seconds=${2:-10}
cache=${CPUIDLED_CACHE:-$T}/fuzz
cd "$top" || exit 1
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:detect_leaks=1}

kept()
{
	local dir
	for dir in tests/fuzz/corpus/"$1" tests/fuzz/regress/"$1"; do
		[ ! -d "$dir" ] || echo "$dir"
	done
}

fuzz_one()
{
	local program=$1 name=$2 learnt=$cache/$2 dirs
	mkdir -p "$learnt" build/fuzz || return 1
	mapfile -t dirs < <(kept "$name")
	"$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="build/fuzz/$name-" "$learnt" "${dirs[@]}" || return 1
}

replay()
{
	local program=$1 name=$2 files
	mapfile -t files < <(kept "$name" | while read -r dir; do find "$dir" -type f; done)
	[ ${#files[@]} -gt 0 ] || {
		echo "no kept input: tests/fuzz/corpus/$name is empty"
		return 1
	}
	"$program" -timeout=20 "${files[@]}"
}

found=0
for program in "$build"/tests/fuzz-* "$build"/tests/fuzz/fuzz-*; do
	[ -x "$program" ] && [ -f "$program" ] || continue
	found=1
	name=$(basename "$program")
	name=${name#fuzz-}
	check "fuzz $name: kept input" replay "$program" "$name"
	check "fuzz $name: $seconds s of new input" fuzz_one "$program" "$name"
done
[ "$found" = 1 ] || skip "fuzz" "no fuzz targets in $build (built with clang and CPUIDLED_FUZZ)"
finish
