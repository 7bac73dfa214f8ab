// SPDX-License-Identifier: GPL-2.0-or-later
DefinitionBlock ("bffh.aml", "SSDT", 1, "TEST", "CSTATES", 0x00000001)
{
    External (\_PR.CPU0, DeviceObj)
    Scope (\_PR.CPU0)
    {
        Name (_CST, Package (0x03)
        {
            0x02,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 },
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000020, 0x01) }, 0x02, 0x0050, 0x0190 }
        })
    }
}
