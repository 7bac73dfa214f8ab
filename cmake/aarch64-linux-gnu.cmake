# SPDX-License-Identifier: GPL-2.0-or-later
# Builds for arm64 on another machine, with Debian's cross compiler:
#
#   cmake -B build/arm64 --toolchain cmake/aarch64-linux-gnu.cmake
#         -DCMAKE_SYSROOT="$(tests/vm/fetch sysroot-arm64)/root"
#
# The sysroot has Debian's packages of the libraries for arm64, unpacked. Without one, what a
# multi-architecture Debian has installed itself is taken. Tests run by qemu's user mode, where it is.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

find_program(QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(QEMU_AARCH64)
	set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L ${CMAKE_SYSROOT}/)
endif()

# pkg-config must know neither this machine's libraries nor its paths.
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
	"${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
