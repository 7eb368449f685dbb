"""Check sums of texts by name: of what a recording says of itself and of its topics.

Chunks of messages have check sums by their format, everything before them has none.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

_KEY = "crc32"


class Damaged(ValueError):
    """Bytes that are not what they should be."""


def with_checksum(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """The values of something with their check sum beside them."""
    return {**values, _KEY: _checksum(name, values)}


def intact(name: str, values: Mapping[str, str]) -> bool:
    """Whether values are those that were written; the first recordings have no sum."""
    written = {key: value for key, value in values.items() if key != _KEY}
    return values.get(_KEY) in (None, _checksum(name, written))


def _checksum(name: str, values: Mapping[str, str]) -> str:
    # In the order of the names: programs that copy recordings may put them in another.
    texts = [name, *(text for pair in sorted(values.items()) for text in pair)]
    return f"{zlib.crc32(chr(0).join(texts).encode()):08x}"
