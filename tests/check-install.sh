#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-install.sh BUILD: cmake --install puts every file where Debian and systemd look for it.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"
build=$(readlink -f "${1:-$top/build/gcc}")
tree=$T/tree

install_into()
{
	DESTDIR=$1 cmake --install "$build"
}

# as_listed DIR: the files below DIR are those of tests/install.list and the module's sources, no more and no
# less, with their modes.
as_listed()
{
	local version
	version=$(sed -n 's/^project(cpuidled VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
	(cd "$1" && find . ! -type d -printf '%m %p\n' | sed 's| \.| |; s| /lib/| /usr/lib/|; s|/[a-z0-9_]*-linux-gnu[a-z0-9]*/|/ARCH/|' | sort -k2) >"$T/found"
	{
		sed '/^#/d; /^$/d' "$top/tests/install.list"
		tree_files "$top" | sed -n "s|^kmod/|644 /usr/src/cpuidle-policy-$version/|p"
	} | sort -k2 | diff - "$T/found"
}

# No file may speak of the folder it was built in.
no_build_paths()
{
	! grep -rlI -e "$build" -e "$top" "$1"
}

runs()
{
	"$1/usr/sbin/cpuidled" --version && "$1/usr/bin/cpuidlectl" --version
}

# The shipped profiles lie beside the program, so an installed tree works wherever it lies.
profiles_found()
{
	mkdir -p "$T/host" && "$top/tests/hosts/unpack" "$top/tests/hosts/icx2s0.sysfs.gz" "$T/host" &&
		"$1/usr/bin/cpuidlectl" list-profiles --root "$T/host" | grep -q sap-hana
}

check "cmake --install into DESTDIR" install_into "$tree"
check "every file is where it belongs, and no other" as_listed "$tree"
check "no installed text names the build folder" no_build_paths "$tree"
check "installed programs run" runs "$tree"
check "an installed tree finds its profiles" profiles_found "$tree"

cp -a "$tree" "$T/more" && touch "$T/more/usr/lib/stray"
refuse "a stray file is found" as_listed "$T/more"
cp -a "$tree" "$T/less" && rm "$T/less/usr/sbin/cpuidled"
refuse "a missing file is found" as_listed "$T/less"
echo "$top" >"$T/less/usr/share/note" 2>/dev/null
refuse "a build path in a text is found" no_build_paths "$T/less"
finish
