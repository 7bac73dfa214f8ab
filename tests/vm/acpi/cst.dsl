// SPDX-License-Identifier: GPL-2.0-or-later
DefinitionBlock ("cst.aml", "SSDT", 1, "TEST", "CSTATES", 0x00000001)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    Scope (\_SB)
    {
        Name (CSTP, Package (0x03)
        {
            0x02,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 },
            Package (0x04) { ResourceTemplate () { Register (SystemIO, 0x08, 0x00, 0x0000000000000080, 0x01) }, 0x02, 0x0012, 0x0190 }
        })
    }
    Scope (\_SB.CPUS.C000) { Method (_CST, 0) { Return (\_SB.CSTP) } }
    Scope (\_SB.CPUS.C001) { Method (_CST, 0) { Return (\_SB.CSTP) } }
}
