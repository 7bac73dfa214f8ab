#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lint.sh BUILD: what the linters say of the tree, as TAP. BUILD has compile_commands.json.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"
build=$(readlink -f "${1:-$top/build/gcc}")
cd "$top" || exit 1

# These two change their mind between versions; this one decides.
llvm=14

tool_of_version()
{
	if command -v "$1-$2" >/dev/null; then
		echo "$1-$2"
	elif "$1" --version 2>/dev/null | grep -q "version $2\."; then
		echo "$1"
	fi
}

# The module and what speaks to it in its guests keep the kernel's own formatting.
mapfile -t sources < <(tree_files . | grep -E '\.[ch]$' | grep -vE '^(kmod|tests/kmod)/')
mapfile -t scripts < <(tree_files . | while read -r file; do
	[ -f "$file" ] || continue
	case $(head -c 40 "$file" | head -n 1 | tr -d '\0') in
	'#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) echo "$file" ;;
	esac
done)

format=$(tool_of_version clang-format $llvm)
if [ -n "$format" ]; then
	for file in "${sources[@]}"; do
		check "clang-format $file" "$format" --dry-run -Werror --style=file "$file"
	done
else
	skip "clang-format" "clang-format-$llvm (another version decides differently)"
fi

if command -v shellcheck >/dev/null; then
	for file in "${scripts[@]}"; do
		# SC2154: names that a sourced file sets, found or not
		check "shellcheck $file" shellcheck -S warning -x -e SC2154 "$file"
	done
else
	skip "shellcheck" "shellcheck"
fi

# Two files at a time; a file's verdict is its own output's status.
tidy_all()
{
	grep -o '"file": "[^"]*"' "$build/compile_commands.json" | cut -d'"' -f4 | sort -u |
		grep -E "^$top/(policy|daemon|cli)/" |
		xargs -P "$(nproc)" -I{} sh -c '
			name=$(echo "$3" | tr / _)
			"$1" --quiet -p "$2" "$3" >"$4/$name.tidy" 2>&1
			echo "$? $3 $4/$name.tidy"' sh "$tidy" "$build" {} "$T"
}

tidy=$(tool_of_version clang-tidy $llvm)
if [ -z "$tidy" ]; then
	skip "clang-tidy" "clang-tidy-$llvm (another version decides differently)"
elif [ ! -e "$build/compile_commands.json" ]; then
	skip "clang-tidy" "$build/compile_commands.json (./dev build)"
else
	while read -r status file output; do
		cp "$output" "$T/.output"
		tap_result "$status" "clang-tidy ${file#"$top"/}"
	done < <(tidy_all)
fi

if [ -d kmod ] && ls kmod/*.c >/dev/null 2>&1; then
	if ! command -v sparse >/dev/null; then
		skip "sparse kmod" "sparse"
	else
		for file in kmod/*.c; do
			# with the kernel's headers, kbuild would have to call it
			grep -qE '#include <(linux|net|asm)/|x86\.h|hook\.h' "$file" && continue
			check "sparse $file" sparse -Wsparse-error "$file"
		done
	fi
fi
finish
