// SPDX-License-Identifier: GPL-2.0-or-later
//
// C-states for two CPUs, and a firmware that changes its mind about them, as laptops' do when they are
// plugged in: each read of /sys/bus/acpi/devices/TEST0001:00/hrv has the next set in force, and tells the
// kernel so by the notification that the ACPI specification has for it (0x81: C-states changed).
//
//   0  C1 HLT, C2 I/O port 0x80 with 18 us
//   1  the same, C2 with 4 us
//   2  C1 alone
DefinitionBlock ("cst.aml", "SSDT", 1, "TEST", "CSTATES", 0x00000001)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    Scope (\_SB)
    {
        Name (CSTN, Zero)
        Name (CST0, Package (0x03)
        {
            0x02,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 },
            Package (0x04) { ResourceTemplate () { Register (SystemIO, 0x08, 0x00, 0x0000000000000080, 0x01) }, 0x02, 0x0012, 0x0190 }
        })
        Name (CST1, Package (0x03)
        {
            0x02,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 },
            Package (0x04) { ResourceTemplate () { Register (SystemIO, 0x08, 0x00, 0x0000000000000080, 0x01) }, 0x02, 0x0004, 0x0190 }
        })
        Name (CST2, Package (0x02)
        {
            0x01,
            Package (0x04) { ResourceTemplate () { Register (FFixedHW, 0x01, 0x02, 0x0000000000000000, 0x01) }, 0x01, 0x0001, 0x03E8 }
        })
        Method (CSTG, 0)
        {
            If (CSTN == One) { Return (CST1) }
            If (CSTN == 0x02) { Return (CST2) }
            Return (CST0)
        }
        Device (CSTC)
        {
            Name (_HID, "TEST0001")
            Method (_HRV, 0)
            {
                CSTN = (CSTN + One) % 0x03
                Notify (\_SB.CPUS.C000, 0x81)
                Notify (\_SB.CPUS.C001, 0x81)
                Return (CSTN)
            }
        }
    }
    Scope (\_SB.CPUS.C000) { Method (_CST, 0) { Return (\_SB.CSTG ()) } }
    Scope (\_SB.CPUS.C001) { Method (_CST, 0) { Return (\_SB.CSTG ()) } }
}
