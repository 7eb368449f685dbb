"""What a thing is as JSON values that are the same in every process; large arrays are digested."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from .. import record
from ..errors import InvalidValue
from ..shared_arrays import ArrayNumber

LARGE = 64
"""Numbers of an array above which it is digested."""
_PRIVATE_STREAM = "_own"
"""Of an uncertainty model: where its own stream stands, which no campaign reads."""


def plain(value: Any) -> Any:
    """A value as JSON values. Raises for what has no such form, such as a function of a closure."""
    if isinstance(value, ArrayNumber):
        return plain(np.asarray(value.values))
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else repr(number)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in sorted(value.items())}
    if record.is_record_type(type(value)):
        return {name: plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, (type, FunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return _object(value)


def only_adds(now: Mapping[str, Any], before: Mapping[str, Any], *growing: str) -> bool:
    """Whether an identity is one before, but for more entries in these parts of it."""
    if now.keys() != before.keys():
        return False
    same = all(now[name] == before[name] for name in now if name not in growing)
    return same and all(before[name].items() <= now[name].items() for name in growing)


def _array(array: Any) -> Any:
    if array.dtype == object:
        return [plain(part) for part in array.tolist()]
    if array.size <= LARGE and array.dtype.kind in "biuf":
        return plain(array.tolist())
    whole = np.ascontiguousarray(array)
    text = f"{whole.dtype.newbyteorder('<').str} {whole.shape} ".encode()
    little = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
    return "sha256:" + hashlib.sha256(text + little.tobytes()).hexdigest()


def _object(value: Any) -> Any:
    if not hasattr(value, "__dict__"):
        raise InvalidValue(f"{value!r} cannot be written into a plan")
    fields = sorted(vars(value).items())
    parts = {name: plain(part) for name, part in fields if name != _PRIVATE_STREAM}
    return {"class": plain(type(value)), **parts}
