# SPDX-License-Identifier: Apache-2.0
"""refuse_calls.py ERRNO COMMAND... - runs COMMAND where system calls that are not in every container fail.

Containers that are older than the C library refuse calls of Linux 3.15 and later with EPERM or ENOSYS; some
refuse splice(2) too. Ends with status 77 if
such a filter cannot be installed.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# By number on x86_64. Without the calls that start threads, which the C library needs.
CALLS = {"splice": 275, "renameat2": 316, "getrandom": 318, "memfd_create": 319, "copy_file_range": 326,
         "preadv2": 327, "pwritev2": 328, "statx": 332, "io_uring_setup": 425, "pidfd_open": 434,
         "close_range": 436, "openat2": 437, "faccessat2": 439}

# Instructions and results of a filter, and the calls of prctl(2); see seccomp(2).
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def install(cause):
    code = [(LOAD, 0, 0, 0)]  # the number of the call
    for at, call in enumerate(CALLS.values()):
        code.append((JUMP_IF_EQUAL, len(CALLS) - at, 0, call))
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL | cause)]
    data = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    program = Program(len(code), ctypes.addressof(data))
    prctl = ctypes.CDLL(None).prctl
    return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


if platform.machine() != "x86_64" or not install(getattr(errno, sys.argv[1])):
    sys.exit(77)
os.execvp(sys.argv[2], sys.argv[2:])
