"""One elementary vocabulary for floats, NumPy arrays, CasADi symbols and JAX arrays.

Model functions are written with these and the arithmetic operators; the argument decides which
library computes. `where` takes the place of `if`. Rules that hold for every backend and for
compiled code:

* `minimum`, `maximum` and `clip` propagate NaN (CasADi's own evaluation alone does not).
* `sign(0)` is 0.
* `pow` takes a constant exponent.
* A function outside its domain gives NaN and raises nothing.

Another scalar type joins by having an attribute `__skidpad_ops__`: an object with these functions.
"""

from __future__ import annotations

from ..calls import called
from ..shared_arrays import shared_array
from .functions import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    cosh,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    hypot,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    pow,
    read,
    sign,
    sin,
    sinh,
    smooth_abs,
    smooth_hypot,
    smooth_step,
    sqrt,
    tan,
    tanh,
    where,
)
from .grids import (
    CubicGrid1,
    CubicGrid2,
    CubicGrid3,
    Grid1,
    Grid2,
    Grid3,
    grid,
    grid_type,
)
from .interpolation import interpolate
from .lookup_tables import lookup, lookup2

__all__ = [
    "CubicGrid1",
    "CubicGrid2",
    "CubicGrid3",
    "Grid1",
    "Grid2",
    "Grid3",
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "called",
    "clip",
    "cos",
    "cosh",
    "equal",
    "exp",
    "floor",
    "greater",
    "greater_equal",
    "grid",
    "grid_type",
    "hypot",
    "interpolate",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup",
    "lookup2",
    "maximum",
    "minimum",
    "not_equal",
    "pow",
    "read",
    "shared_array",
    "sign",
    "sin",
    "sinh",
    "smooth_abs",
    "smooth_hypot",
    "smooth_step",
    "sqrt",
    "tan",
    "tanh",
    "where",
]
