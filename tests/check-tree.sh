#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tree's own hygiene: licences, sizes, no marks of unfinished work, no paths of a machine, README.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"

# Words that must not stand in the tree are spelled so that this file does not have them.
marks='\b(TO''DO|FIX''ME|X''XX|HA''CK)\b($|[: (])|not implem''ented|place''holder'
paths='(^|[^A-Za-z0-9_}])/(wo''rk|ro''ot|ho''me/[a-z]+)/'

text_files()
{
	tree_files "$1" | grep -v -E '\.(gz|png|bin)$|^LICENSE$|^tests/(hosts|fuzz/(corpus|regress)|data)/'
}

with_licence()
{
	local odd
	odd=$(cd "$1" && text_files . | grep -v -E '\.(md|json|gitignore|clang-format|clang-tidy|editorconfig)$|^\.|NOTICE$' |
		grep -E '\.(c|h|S|sh|py|awk|txt|in|conf|xml|policy|service|[158]|dsl|asm)$|^dev$|/run$|Kbuild$|Makefile$|CMakeLists.txt$' |
		xargs -r grep -LE 'SPDX-License-Identifier: .*GPL-2\.0')
	[ -z "$odd" ] || {
		echo "no SPDX line: $odd"
		return 1
	}
}

short_files()
{
	local odd
	odd=$(cd "$1" && text_files . | grep -E '\.(c|h|sh|py|awk)$|^dev$' | xargs wc -l |
		awk '$2 != "total" && $1 > 600')
	[ -z "$odd" ] || {
		echo "longer than 600 lines: $odd"
		return 1
	}
}

clean_text()
{
	local dir=$1 expression=$2
	# TAP has a directive of that name, which the judge of guests has to know.
	! (cd "$dir" && text_files . | xargs grep -nIE "$expression" | grep -vE 'ok [0-9]+.*# TO''DO')
}

# Headings, as the targets that a link can have.
anchors()
{
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links_exist()
{
	local dir=$1 file target status=0
	while read -r file target; do
		case $target in
		http*) continue ;;
		'#'*)
			anchors "$dir/$file" | grep -qxF -- "${target#\#}" && continue
			;;
		*) [ -e "$dir/$(dirname "$file")/${target%%#*}" ] && continue ;;
		esac
		echo "$file: link to $target, which is not there"
		status=1
	done < <(cd "$dir" && for file in *.md docs/*.md; do
		grep -oE '\]\([^)]+\)' "$file" | sed 's/^](\(.*\))$/\1/' | sed "s|^|$file |"
	done)
	return "$status"
}

# Verbs of ./dev and of the programs that the README and docs speak of.
commands_exist()
{
	local dir=$1 verb status=0
	for verb in $(cd "$dir" && grep -ohE '\./dev [a-z]+' README.md docs/*.md | cut -d' ' -f2 | sort -u); do
		(cd "$dir" && ./dev help) | grep -qE "^  $verb( |$)" || {
			echo "./dev $verb is written of, and ./dev does not have it"
			status=1
		}
	done
	return "$status"
}

# refused WORD ...: ./dev says in one line what is wrong, and ends with 2.
refused()
{
	local status=0 text
	text=$("$top/dev" "$@" 2>&1) || status=$?
	echo "exit status $status: $text"
	[ "$status" = 2 ] && [[ $text == "dev: "*"'${*:2}'"* && $text != *$'\n'* ]]
}

short_subjects()
{
	git -c safe.directory='*' -C "$1" log --no-merges --format='%h %s' | awk '
		{ hash = $1; sub(/^[^ ]+ /, "") }
		length($0) > 60 { print hash ": subject of " length($0) ": " $0; bad = 1 }
		!/^[A-Za-z0-9.\/_-]+(, [A-Za-z0-9.\/_-]+)*: / { print hash ": no area before the summary: " $0; bad = 1 }
		END { exit bad }'
}

check "each file names its licence" with_licence "$top"
check "no file is longer than 600 lines" short_files "$top"
check "no mark of unfinished work" clean_text "$top" "$marks"
check "no path of a machine" clean_text "$top" "$paths"
check "links of the documents lead somewhere" links_exist "$top"
check "commands of the documents exist" commands_exist "$top"
check "./dev soak wants a number" refused soak abc
check "./dev soak wants a number above 0" refused soak 0
check "./dev soak wants a number as its seed" refused soak 5 x
check "./dev soak wants no third" refused soak 5 6 7
check "./dev test wants steps that there are" refused test nope
if [ -e "$top/.git" ] && command -v git >/dev/null; then
	check "commit subjects: area, and 60 characters" short_subjects "$top"
else
	skip "commit subjects" "git, or the clone's history"
fi

dir=$(copy_of faults)
echo 'int x;' >"$dir/policy/x.c"
refuse "a file without a licence is found" with_licence "$dir"
yes '/* */' | head -n 601 >"$dir/policy/x.c"
refuse "a file of 601 lines is found" short_files "$dir"
echo '/* TO''DO: later */' >"$dir/policy/x.c"
refuse "a mark of unfinished work is found" clean_text "$dir" "$marks"
echo '/* see /wo''rk/somewhere */' >"$dir/policy/x.c"
refuse "a path of a machine is found" clean_text "$dir" "$paths"
echo '[more](docs/NO-SUCH.md)' >>"$dir/README.md"
refuse "a dead link is found" links_exist "$dir"
echo 'Run `./dev frobnicate`.' >>"$dir/README.md"
refuse "a command that is not there is found" commands_exist "$dir"
if command -v git >/dev/null; then
	git init -q "$T/repo" && git -C "$T/repo" -c user.name=a -c user.email=a@b commit -q \
		--allow-empty -m "area: a subject that goes on for very much longer than sixty characters do"
	refuse "a long commit subject is found" short_subjects "$T/repo"
fi
finish
