"""Seeded damage to the bytes of files: what a broken disk does, and what a stranger may write."""

from __future__ import annotations

import random
import re

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ODD = [
    *(b"nan", b"inf", b"-1", b"0", b"1e308", b"-1e308", b"1e-308", b"1e400", b"0x10", b"1:2:3"),
    *(b"9" * 30, b"9" * 5000, b"2026-02-31", b"null", b"[]", b"{}", b'""', b"", b"\x00", b"&#0;"),
    *(
        b"&#xD800;",
        b"${a}",
        b"$f{1/0}",
        b"$f{inf%2}",
        b"*a",
        b"&a [*a, *a]",
        b"\xff\xfe",
        b"<",
        b'"',
    ),
    *(b"[" * 2000, b"{a: " * 2000, b'{"a":' * 2000, b"<a>" * 200, b"(" * 200, b"\xed\xa0\x80"),
]


def mutated(content: bytes, generator: random.Random) -> bytes:
    """The content with one to three changes."""
    for _ in range(generator.choice((1, 1, 2, 3))):
        content = _changed(content, generator)
    return content


def _changed(content: bytes, generator: random.Random) -> bytes:
    size = len(content)
    at, other = sorted(generator.randrange(size + 1) for _ in range(2))
    near = min(at + generator.randrange(1, 9), size)
    match generator.randrange(9):
        case 0:  # some bytes are others
            return content[:at] + generator.randbytes(near - at) + content[near:]
        case 1:  # one bit is another
            changed = bytearray(content)
            if changed:
                changed[at - 1] ^= 1 << generator.randrange(8)
            return bytes(changed)
        case 2:  # it ends too early
            return content[:at]
        case 3:  # a part is missing
            return content[:at] + content[other:]
        case 4:  # a part stands twice
            return content[:other] + content[at : min(other, at + 1000)] + content[other:]
        case 5 | 6:  # a number is something else
            numbers = list(_NUMBER.finditer(content))
            if not numbers:
                return content[:at] + generator.choice(_ODD) + content[at:]
            number = generator.choice(numbers)
            return content[: number.start()] + generator.choice(_ODD) + content[number.end() :]
        case 7:  # a number in binary is extreme
            width = generator.choice((1, 2, 4, 8))
            extreme = generator.choice((b"\xff", b"\x00", b"\x7f")) * width
            return content[:at] + extreme + content[at + width :]
        case _:  # something odd stands between
            return content[:at] + generator.choice(_ODD) + content[at:]
