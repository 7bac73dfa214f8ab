# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What fetch and rootfs share: the cache, and the way to Debian's archive.

if [ -z "${CPUIDLED_CACHE:-}" ]; then
	if [ "$(id -u)" = 0 ] || [ -e /var/cache/cpuidled/vm-1 ]; then
		CPUIDLED_CACHE=/var/cache/cpuidled
	else
		CPUIDLED_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/cpuidled
	fi
fi
# Raise the number when an item's contents change: an old cache is then left alone, not misread.
store=$CPUIDLED_CACHE/vm-1

die()
{
	echo "vm/${0##*/}: $*" >&2
	exit 1
}

say()
{
	echo "vm/${0##*/}: $*" >&2
}

os_codename()
{
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# The archive that this machine's apt is configured with, whatever it is: no host is named here,
# and proxies, certificates and credentials come from the machine's own apt configuration.
mirror()
{
	local uri
	if [ -n "${CPUIDLED_MIRROR:-}" ]; then
		echo "$CPUIDLED_MIRROR"
		return
	fi
	# shellcheck disable=SC2016 # these dollars are apt's
	uri=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v suite="$(os_codename)" '$1 == suite { print $2; exit }')
	[ -n "$uri" ] || die "the machine's apt has no source for '$(os_codename)':" \
		"set CPUIDLED_MIRROR to a Debian archive"
	echo "$uri"
}

# source_line SUITE [ARCHITECTURE]: the line of a sources.list, checked against Debian's own keys.
source_line()
{
	local keyring archive
	for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[ -e "$keyring" ] && break
	done
	[ -e "$keyring" ] || die "no Debian archive keys (package debian-archive-keyring)"
	archive=$(mirror) || exit 1
	echo "deb [arch=${2:-amd64} signed-by=$keyring] $archive $1 main"
}

# The machine's proxies and certificates, for another apt's configuration.
machine_apt_options()
{
	apt-config dump | { grep -E '^Acquire::(https?|Retries)' || true; }
}

# install_tools COMMAND=PACKAGE ...: installs those whose command, or header, is absent.
install_tools()
{
	local pair missing=()
	for pair in "$@"; do
		case $pair in
		*.h=*) [ -e "/usr/include/${pair%%=*}" ] || missing+=("${pair#*=}") ;;
		*) command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}") ;;
		esac
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || die "missing, and only root can install: ${missing[*]}"
	say "installing ${missing[*]}"
	local said install=(apt-get -qq install -y --no-install-recommends "${missing[@]}")
	export DEBIAN_FRONTEND=noninteractive
	# the lists may be old or absent: read them anew only then
	said=$("${install[@]}" 2>&1) || said=$({ apt-get -qq update && "${install[@]}"; } 2>&1) ||
		die "cannot install: ${missing[*]}: $said"
}

# make_item NAME COMMAND ...: has COMMAND fill the folder $new, with $work for what is needed on the
# way and $final as the name it will have. The folder is renamed when whole: what an interruption
# leaves behind is never taken for an item, and the next run removes it. Each item has a lock of its
# own: some take a minute, others half an hour.
make_item()
{
	local name=$1
	shift
	final=$store/$name
	[ ! -d "$final" ] || return 0
	if ! mkdir -p "$store" 2>/dev/null || [ ! -w "$store" ]; then
		die "$name is missing, and the cache $store cannot be written (set CPUIDLED_CACHE)"
	fi
	exec 9>"$store/.$name.lock"
	flock 9
	if [ ! -d "$final" ]; then
		work=$store/.$name.new
		new=$work/item
		rm -rf "$work"
		mkdir -p "$new"
		say "making $name"
		"$@"
		sync -f "$new"
		mv -T "$new" "$final"
		rm -rf "$work"
	fi
	exec 9>&-
}
