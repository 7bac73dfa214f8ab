#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Include graph against the tables of docs/HACKING.md. Each rule is shown a fault, too.
set -u
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"

layers()
{
	python3 "$top/tests/layers.py" "$1" "$2"
}

check "each file sees only the layers below it" layers "$top" layers
check "each foreign library has its door" layers "$top" doors
check "headers have no cycle" layers "$top" acyclic

dir=$(copy_of up)
echo '#include "plan.h"' >>"$dir/policy/units.c"
refuse "policy/units.c including plan.h is found" layers "$dir" layers

dir=$(copy_of side)
echo '#include "../daemon/apply.h"' >>"$dir/policy/render.c"
refuse "policy/ including daemon/ is found" layers "$dir" layers

dir=$(copy_of stranger)
echo '#include "base.h"' >"$dir/policy/stranger.c"
refuse "a file in no row is found" layers "$dir" layers

dir=$(copy_of ini)
echo '#include <ini.h>' >>"$dir/policy/policy.c"
refuse "<ini.h> in a second file is found" layers "$dir" doors

dir=$(copy_of bus)
echo '#include <systemd/sd-bus.h>' >>"$dir/daemon/apply.c"
refuse "<systemd/sd-bus.h> in daemon/apply.c is found" layers "$dir" doors

dir=$(copy_of json)
echo '#include <jansson.h>' >>"$dir/cli/main.c"
refuse "<jansson.h> in cli/main.c is found" layers "$dir" doors

dir=$(copy_of netlink)
echo '#include <netlink/netlink.h>' >>"$dir/daemon/sysfs.c"
refuse "<netlink/netlink.h> without a door is found" layers "$dir" doors

dir=$(copy_of cycle)
echo '#include "plan.h"' >>"$dir/policy/machine.h"
refuse "a cycle of headers is found" layers "$dir" acyclic
finish
