# SPDX-License-Identifier: Apache-2.0
"""Makes zstd (RFC 8878) of bytes, in frames of odd sizes. tests/fuzz/fuzz_zstd.c makes blocks and headers
that libzstd does not write."""

import ctypes
import ctypes.util
import struct

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGIC = 0x184D2A50  # and the 15 above

library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
    getattr(library, name).restype = ctypes.c_size_t


def compress(data):
    """One frame."""
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    buffer = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), bytes(data), ctypes.c_size_t(len(data)), 1)
    return buffer.raw[:size]


def decompress(data, size):
    """At most one byte more than the size, so that what is too long is seen; None: no zstd."""
    buffer = ctypes.create_string_buffer(size + 1)
    got = library.ZSTD_decompress(buffer, ctypes.c_size_t(size + 1), data, ctypes.c_size_t(len(data)))
    return buffer.raw[:got] if got <= size + 1 else None


def skippable_frame(rng):
    content = rng.choice([b"", b"\n", b"9\n", MAGIC, rng.randbytes(rng.choice([4, 100]))])
    return struct.pack("<II", SKIPPABLE_MAGIC + rng.randrange(16), len(content)) + content


def compress_oddly(rng, data):
    """Frames of few bytes, and of none, skippable ones among them: those alone are no zstd data."""
    has_frame = False
    out = [skippable_frame(rng)] if rng.random() < 0.2 else []
    most = rng.choice([1, 7, 1000, len(data) + 1])
    while data or not has_frame:
        size = min(rng.choice([0, most, rng.randrange(most + 1)]), len(data))
        if len(out) > 50:  # enough of them
            size = len(data)
        frame = data[:size]
        out.append(compress(frame))
        data = data[size:]
        has_frame = True
        if rng.random() < 0.1:
            out.append(skippable_frame(rng))
    return b"".join(out)
