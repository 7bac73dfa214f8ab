// SPDX-License-Identifier: GPL-2.0-or-later
//
// C-states for four CPUs. C2 is there, for who looks at limits and at what is disabled, but takes 100 s: no governor finds
// it worth its while. A read of a port returns at once here, so an emulated CPU that goes to such a state does not
// sleep but spins, and four that spin leave nothing to the one that works.
DefinitionBlock ("rare.aml", "SSDT", 1, "TEST", "CSTATES", 0x00000001)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    External (\_SB.CPUS.C002, DeviceObj)
    External (\_SB.CPUS.C003, DeviceObj)
    Scope (\_SB)
    {
        Name (CST0, Package (0x03)
        {
            0x02,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 },
            Package (0x04) { ResourceTemplate () { Register (SystemIO, 0x08, 0x00, 0x0000000000000080, 0x01) }, 0x02, 0x05F5E100, 0x0190 }
        })
    }
    Scope (\_SB.CPUS.C000) { Method (_CST, 0) { Return (\_SB.CST0) } }
    Scope (\_SB.CPUS.C001) { Method (_CST, 0) { Return (\_SB.CST0) } }
    Scope (\_SB.CPUS.C002) { Method (_CST, 0) { Return (\_SB.CST0) } }
    Scope (\_SB.CPUS.C003) { Method (_CST, 0) { Return (\_SB.CST0) } }
}
