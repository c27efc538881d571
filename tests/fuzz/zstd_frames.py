# SPDX-License-Identifier: Apache-2.0
"""Makes zstd (RFC 8878) of bytes: by libzstd in frames of a size, or as no program would cut them."""

import ctypes
import ctypes.util
import struct

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGIC = 0x184D2A50  # and the 15 above
BLOCK_BYTES_MAX = 128 << 10
STORED, REPEATED = 0, 1  # kinds of blocks

library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
    getattr(library, name).restype = ctypes.c_size_t


def compress(data, frame_bytes):
    """In frames that hold so many bytes each."""
    out = []
    for begin in range(0, max(len(data), 1), frame_bytes):
        frame = bytes(data[begin : begin + frame_bytes])
        room = library.ZSTD_compressBound(ctypes.c_size_t(len(frame)))
        buffer = ctypes.create_string_buffer(room)
        size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), frame, ctypes.c_size_t(len(frame)), 1)
        out.append(buffer.raw[:size])
    return b"".join(out)


def decompress(data, size):
    """At most one byte more than the size, so that what is too long is seen; None: no zstd."""
    buffer = ctypes.create_string_buffer(size + 1)
    got = library.ZSTD_decompress(buffer, ctypes.c_size_t(size + 1), data, ctypes.c_size_t(len(data)))
    return buffer.raw[:got] if got <= size + 1 else None


# ---- frames by hand ------------------------------------------------------------------------------


def block(data, is_last):
    """Stored, or the one byte that all are."""
    is_repeated = len(data) > 1 and data == data[:1] * len(data)
    kind, content = (REPEATED, data[:1]) if is_repeated else (STORED, data)
    return struct.pack("<I", len(data) << 3 | kind << 1 | is_last)[:3] + content


def blocks(rng, data, most):
    """An empty one among them at times."""
    pieces = []
    while data:
        size = rng.choice([0, 1, most, rng.randrange(1, most + 1), most])
        pieces.append(data[:size])
        data = data[size:]
    if not pieces or rng.random() < 0.2:
        pieces.append(b"")
    return b"".join(block(piece, i == len(pieces) - 1) for i, piece in enumerate(pieces))


def frame_by_hand(rng, data):
    """With its size or without, in a window of its own size or a larger one; the number of the
    dictionary, none, is said or not."""
    dictionary = b"\0" if rng.random() < 0.2 else b""
    says = [(2, struct.pack("<I", len(data))), (3, struct.pack("<Q", len(data)))]
    if 256 <= len(data) < 65792:
        says.append((1, struct.pack("<H", len(data) - 256)))
    if rng.random() < 0.5:  # one segment
        if len(data) < 256:
            says.append((0, bytes([len(data)])))
        flag, size = rng.choice(says)
        head, most = bytes([flag << 6 | 1 << 5 | len(dictionary)]), max(len(data), 1)
    else:
        flag, size = rng.choice([(0, b""), (0, b""), rng.choice(says)])
        window = rng.randrange(12)
        head, most = bytes([flag << 6 | len(dictionary), window << 3]), 1024 << window
    return MAGIC + head + dictionary + size + blocks(rng, data, min(most, BLOCK_BYTES_MAX))


def skippable_frame(rng):
    content = rng.choice([b"", b"\n", b"9\n", MAGIC, rng.randbytes(rng.choice([4, 100]))])
    return struct.pack("<II", SKIPPABLE_MAGIC + rng.randrange(16), len(content)) + content


def compress_oddly(rng, data):
    """Frames of all kinds: of few bytes, of none, by hand and by the library, skippable ones among
    them: those alone are no zstd data."""
    has_frame = False
    out = [skippable_frame(rng)] if rng.random() < 0.2 else []
    most = rng.choice([1, 7, 1000, len(data) + 1])
    while data or not has_frame:
        size = min(rng.choice([0, most, rng.randrange(most + 1)]), len(data))
        if len(out) > 50:  # enough of them
            size = len(data)
        frame = data[:size]
        out.append(frame_by_hand(rng, frame) if rng.random() < 0.7 else compress(frame, len(frame) + 1))
        data = data[size:]
        has_frame = True
        if rng.random() < 0.1:
            out.append(skippable_frame(rng))
    return b"".join(out)
