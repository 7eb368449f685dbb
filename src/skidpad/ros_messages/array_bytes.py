"""Arrays of numbers as bytes, without silent changes of their values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def _little(dtype: str) -> np.dtype[Any]:
    return np.dtype(f"<{dtype}")


def array_bytes(values: Any, dtype: str) -> bytes:
    """The values, little endian; raises ValueError if they are none of this kind, or too large."""
    wanted = _little(dtype)
    if isinstance(values, (bytes, bytearray, memoryview)) and dtype == "u1":
        return bytes(values)
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError("must be a flat list of numbers")
    if array.dtype != wanted and array.size:
        array = _converted(array, wanted)
    return array.astype(wanted, copy=False).tobytes()


def _converted(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[wanted.kind]:
        kind = {"b": "true or false", "f": "numbers"}.get(wanted.kind, "whole numbers")
        raise ValueError(f"must be {kind}")
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ValueError(f"must be within {limits.min} to {limits.max}")
    with np.errstate(over="ignore"):
        converted = array.astype(wanted)
    if wanted.kind == "f" and (np.isinf(converted) & ~np.isinf(array)).any():
        raise ValueError(f"must be within the range of {wanted.name}")
    return converted
