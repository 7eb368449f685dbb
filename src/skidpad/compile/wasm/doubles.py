"""What the bodies of both multiply-adds are written with: locals, and arithmetic of doubles."""

from __future__ import annotations

from .binary import op
from .dialects import FORMATS


class Locals:
    """Locals of a function behind its three arguments."""

    def __init__(self) -> None:
        self.kinds: list[bytes] = []

    def new(self, kind: bytes, count: int) -> list[int]:
        """So many more."""
        first = 3 + len(self.kinds)
        self.kinds += [kind] * count
        return list(range(first, first + count))


def number(value: float) -> bytes:
    """A constant."""
    return b"\x44" + FORMATS["float64"].bits_of(value).to_bytes(8, "little")


def add(x: bytes, y: bytes) -> bytes:
    """Of doubles."""
    return op("f64.add", x, y)


def sub(x: bytes, y: bytes) -> bytes:
    """Of doubles."""
    return op("f64.sub", x, y)


def mul(x: bytes, y: bytes) -> bytes:
    """Of doubles."""
    return op("f64.mul", x, y)


def int64(name: str, x: bytes, y: bytes) -> bytes:
    """An operation on words of 64 bits."""
    return op(f"i64.{name}", x, y)
