"""Texts of any characters, for properties.

`st.text()` does the same with tables of Unicode's categories, which hypothesis makes on each new
checkout in seven seconds.
"""

from __future__ import annotations

from hypothesis import strategies as st

_ASCII = st.integers(0x20, 0x7E)
_ANY = st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF)  # all but halves of characters


def texts(max_size: int) -> st.SearchStrategy[str]:
    """Texts of at most so many characters, half of them of those on a keyboard."""
    return st.lists((_ASCII | _ANY).map(chr), max_size=max_size).map("".join)
