#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-objects.sh BUILD: what the compiled code calls and keeps.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"
build=$(readlink -f "${1:-$top/build/gcc}")

# What pure code may call: memory, text, sorting, and inih. No files, no clock, no environment, no locale.
# (inih's ini_parse_stream gets our own reader; it opens nothing.)
pure='malloc calloc realloc reallocarray free strdup strndup
memcpy memmove memset memcmp memchr memrchr rawmemchr mempcpy
strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strrchr strchrnul strstr strcasestr
strspn strcspn strpbrk strsep stpcpy snprintf vsnprintf vasprintf asprintf qsort bsearch
__popcountdi2 __errno_location __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc tolower toupper
fnmatch gmtime_r ini_parse_stream ini_parse_string
__stack_chk_fail __snprintf_chk __vsnprintf_chk __memcpy_chk __memmove_chk __memset_chk __strcpy_chk
__strncpy_chk __asprintf_chk __vasprintf_chk __stpcpy_chk __mempcpy_chk __assert_fail
_GLOBAL_OFFSET_TABLE_'

undefined()
{
	nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u
}

defined()
{
	nm --defined-only "$1" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' | sort -u
}

only_pure_calls()
{
	local odd
	odd=$(undefined "$1" | grep -vxF -f <(defined "$1") | grep -vxF -f <(tr ' ' '\n' <<<"$pure"))
	[ -z "$odd" ] || {
		echo "pure code calls: $odd"
		return 1
	}
}

# Data that a program could write: .data, .bss and common symbols. Tables of const pointers lie in
# .data.rel.ro, which nm calls d or D as well; the section tells.
no_mutable_data()
{
	local odd
	odd=$(objdump -t "$@" | awk '/file format/ { file = $1 }
		$0 ~ / O (\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && !/\.data\.rel\.ro/ { print file, $NF }' |
		grep -v -E ' (__asan|__odr_asan|__ubsan|\.L)' )
	[ -z "$odd" ] || {
		echo "file-scope data that can be written: $odd"
		return 1
	}
}

compiles()
{
	printf '#include "base.h"\n%s\n' "$1" >"$T/try.c"
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -I"$top/policy" -c "$T/try.c" -o "$T/try.o"
}

mapfile -t objects < <(find "$build/CMakeFiles" -path '*.dir/*' \
	\( -path '*/policy/*' -o -path '*/daemon/*' -o -path '*/cli/*' -o -path '*/lib/*' \) -name '*.o')

check "libpolicy.a calls nothing that does I/O" only_pure_calls "$build/libpolicy.a"
check "product objects keep no writable data" no_mutable_data "${objects[@]}"

compiles '#include <fcntl.h>
int f(void); int f(void) { return open("/etc/passwd", O_RDONLY); }'
cp "$build/libpolicy.a" "$T/impure.a" && ar r "$T/impure.a" "$T/try.o" 2>"$T/.output"
refuse "open() in libpolicy.a is found" only_pure_calls "$T/impure.a"

compiles 'int f(void); int f(void) { static int n; return ++n; }'
refuse "a static counter is found" no_mutable_data "$T/try.o"
compiles 'int counter = 3;'
refuse "an initialised global is found" no_mutable_data "$T/try.o"
compiles 'static const char *const t[] = { "a" }; const char *f(int i); const char *f(int i) { return t[i]; }'
check "a const table of pointers is none" no_mutable_data "$T/try.o"

# forbids DIR NAME: does the compiler refuse NAME after DIR's base.h, and for that reason?
forbids()
{
	printf '#include "base.h"\nvoid *f(void); void *f(void) { return (void *)%s; }\n' "$2" >"$T/try.c"
	! LC_ALL=C ${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -I"$1" -c "$T/try.c" -o "$T/try.o" 2>"$T/err" &&
		grep -q "poisoned.*$2" "$T/err"
}

for name in atoi atol atoll strtol strtoul strtoll strtoull strtod \
	sprintf vsprintf strcpy strcat strtok gets; do
	check "base.h forbids $name" forbids "$top/policy" "$name"
done
mkdir "$T/kind" && sed '/GCC poison/s/atoi//' "$top/policy/base.h" >"$T/kind/base.h"
refuse "a base.h that allows atoi is found" forbids "$T/kind" atoi
finish
