"""Several libraries of macOS in one file, which each processor loads its own part of.

The format is Apple's: a head and a row per part, in big-endian words (`mach-o/fat.h` of the system
describes it). FMI 2.0 has one folder for macOS, whatever the processor.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ..errors import InvalidValue

_MAGIC = 0xCAFEBABE
_MACHO = 0xFEEDFACF
_ALIGNMENT = 14
"""Parts begin at multiples of the largest page, 16 KiB, as a power of two."""


def fat_binary(parts: Sequence[bytes]) -> bytes:
    """One file of 64-bit libraries, each for another processor."""
    rows: list[bytes] = []
    body, page = b"", 1 << _ALIGNMENT
    for part in parts:
        magic, processor, model = struct.unpack_from("<III", part)
        if magic != _MACHO:
            raise InvalidValue(f"a part begins with {magic:#x}, which is no library of macOS")
        offset = page + len(body)
        rows.append(struct.pack(">IIIII", processor, model, offset, len(part), _ALIGNMENT))
        body += part + bytes(-len(part) % page)
    head = struct.pack(">II", _MAGIC, len(rows)) + b"".join(rows)
    return head + bytes(page - len(head)) + body
