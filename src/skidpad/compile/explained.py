"""What goes wrong when a function that works on numbers meets symbols, in words."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..errors import TraceError


@contextmanager
def explained(name: str) -> Generator[None]:
    """What a function of this name does to symbols that only works on numbers is a `TraceError`."""
    try:
        yield
    except RuntimeError as error:
        if "to_int" in str(error):
            raise TraceError(
                f"{name} makes a Python integer of a value only known at run time; "
                "use skidpad.ops.floor"
            ) from error
        if "truth value" in str(error):
            raise TraceError(
                f"{name} branches in Python (`if`, `and`, `or`, `min`, `max`, `while`) on a value "
                "only known at run time; use skidpad.ops.where, logical_and, minimum, maximum"
            ) from error
        raise


def scalar(name: str, verb: str, value: Any) -> Any:
    """A value as a scalar of CasADi; the error says that `name` returned, or is, something else."""
    import casadi as ca

    try:
        # A copy of a symbol takes longer than most that is done with it.
        symbol = value if type(value) is ca.SX else ca.SX(value)
    except (NotImplementedError, TypeError) as error:
        raise TraceError(f"{name} {verb} {value!r}, which is not a scalar") from error
    if symbol.numel() != 1:
        raise TraceError(f"{name} {verb} a value of shape {symbol.shape}; expected a scalar")
    return symbol
