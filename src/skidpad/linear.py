"""A vehicle as a linear system around a point: what linearising it gives."""

from __future__ import annotations

from typing import NamedTuple

from . import record
from .arrays import AnyArray


class Discrete(NamedTuple):
    """One step of a vehicle, and how it changes with what it starts from."""

    x_next: AnyArray
    """State after the step, (nx,)."""
    A: AnyArray
    """Derivative of `x_next` with respect to the state, (nx, nx)."""
    B: AnyArray
    """Derivative of `x_next` with respect to the input, (nx, nu)."""


class Continuous(NamedTuple):
    """The motion of a vehicle at an instant, and how it changes with state and input."""

    rate: AnyArray
    """Time derivative of the state, (nx,)."""
    A: AnyArray
    """Derivative of `rate` with respect to the state, (nx, nx)."""
    B: AnyArray
    """Derivative of `rate` with respect to the input, (nx, nu)."""


class NormalisedAcceleration(NamedTuple):
    """Accelerations over their limits: ±1 is the limit."""

    along: float
    """Along the vehicle, forward positive."""
    across: float
    """Across the vehicle, positive to the left."""


class LinearAcceleration(NamedTuple):
    """Accelerations over their limits, and how they change with state and input."""

    along: float
    """Along the vehicle, forward positive."""
    across: float
    """Across the vehicle, positive to the left."""
    along_x: AnyArray
    """Derivative of `along` with respect to the state, (nx,)."""
    along_u: AnyArray
    """Derivative of `along` with respect to the input, (nu,)."""
    across_x: AnyArray
    """Derivative of `across` with respect to the state, (nx,)."""
    across_u: AnyArray
    """Derivative of `across` with respect to the input, (nu,)."""


record.document_all()
