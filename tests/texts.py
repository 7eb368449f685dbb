"""Texts for properties.

`st.text` does the same with tables of Unicode's categories, which hypothesis makes on each new
checkout in seven seconds, even for an alphabet of its user's.
"""

from __future__ import annotations

from hypothesis import strategies as st

_ASCII = st.integers(0x20, 0x7E)
_ANY = st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF)  # all but halves of characters


def texts(max_size: int, alphabet: str = "", min_size: int = 0) -> st.SearchStrategy[str]:
    """Texts over an alphabet; without one of any characters, many of them those of a keyboard."""
    characters = st.sampled_from(alphabet) if alphabet else (_ASCII | _ANY).map(chr)
    return st.lists(characters, min_size=min_size, max_size=max_size).map("".join)
