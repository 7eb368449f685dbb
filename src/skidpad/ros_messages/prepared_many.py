"""Messages of one layout for many: their numbers are written together, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..brief import brief_repr
from ..errors import InvalidValue
from .interfaces import MessageType
from .prepared import Prepared


class PreparedMany:
    """Encoded messages whose numbers can be changed, of all of them at once.

    Args:
        type_: the type.
        messages: records of it, one or more, whose strings and sequences are of equal lengths.
    """

    def __init__(self, type_: MessageType, messages: Sequence[Any]) -> None:
        each = [Prepared(type_, message) for message in messages]
        self._first = each[0]
        if any(one.layout != each[0].layout for one in each):
            raise InvalidValue(f"{type_.name}: messages differ in lengths of texts or sequences")
        self._size = len(each[0].data)
        self._buffer = bytearray(b"".join(one.data for one in each))
        whole, size = memoryview(self._buffer), self._size
        self.rows = [whole[k * size : (k + 1) * size] for k in range(len(each))]
        """CDR of each with its header, always complete."""

    __repr__ = brief_repr

    def column(self, path: str) -> NDArray[Any]:
        """A number of all messages, as a view that writes into them; paths as of `Prepared`."""
        begin, dtype = self._first.place(path)
        shape, strides = (len(self.rows),), (self._size,)
        return np.ndarray(shape, dtype, self._buffer, begin, strides)
