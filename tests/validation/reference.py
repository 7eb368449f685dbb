"""Reading the recorded numbers, and running a model against them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import odeint

from skidpad.core import record

FOLDER = Path(__file__).parents[1] / "data" / "brains2"
PARAMS = [
    *("m", "I_z", "l_r", "l_f", "C_m0", "C_r0", "C_r1", "C_r2", "t_tau", "t_steer"),
    *("z_cg", "track", "C_down", "tyre.B", "tyre.C", "tyre.D", "tyre.E"),
]
NO_LIMITS = {"tau_max": 1e9, "steer_max": 1e9, "steer_rate_max": 1e9}
"""The recordings without limiter have targets that a limited actuator would not follow."""


def load(name: str) -> dict[str, Any]:
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


def vehicle(factory: Any, params: np.ndarray, **more: float) -> Any:
    """A vehicle with recorded parameters, as far as its model has them."""
    known = record.names(factory.model.Params)
    given = {name: value for name, value in zip(PARAMS, params, strict=True) if name in known}
    return factory(given, **more)


def columns(kind: type, table: np.ndarray) -> Any:
    """A record whose fields are the columns of a table."""
    return kind(*table.T)


def table(values: Any) -> np.ndarray:
    """A record of columns as a table; constant fields are repeated."""
    return np.stack(np.broadcast_arrays(*record.flatten(values)), axis=1)


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest |difference| over max(|expected|, scale of that column)."""
    scale = np.maximum(np.abs(expected), np.abs(expected).max(axis=0))
    return float(np.max(np.abs(got - expected) / np.where(scale > 0.0, scale, 1.0)))


def compiled(function: Callable[..., Any], State: type, Held: type, params: Any, w: Any) -> Any:
    """`function(x, u, w, p)` with constant w and p as a CasADi function of two vectors."""
    x = ca.SX.sym("x", record.size(State))
    u = ca.SX.sym("u", record.size(Held))
    value = function(
        record.unflatten(State, ca.vertsplit(x)), record.unflatten(Held, ca.vertsplit(u)), w, params
    )
    return ca.Function("f", [x, u], [ca.vertcat(*record.flatten(value))], {"cse": True})


def flow(derivative: Any, x: np.ndarray, u: np.ndarray, times: np.ndarray) -> np.ndarray:
    """States at `times` from x at times[0] under a constant input.

    By LSODA, within Fortran, and with CasADi on buffers: steps and conversions in Python would take
    most of the time.
    """
    state, held, rate = np.array(x, dtype=float), np.array(u, dtype=float), np.empty(len(x))
    buffer, evaluate = derivative.buffer()
    buffer.set_arg(0, memoryview(state))
    buffer.set_arg(1, memoryview(held))
    buffer.set_res(0, memoryview(rate))

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        state[:] = y
        evaluate()
        return rate

    run, told = odeint(rates, x, times, tfirst=True, rtol=1e-10, atol=1e-11, full_output=True)
    assert told["message"] == "Integration successful.", told["message"]
    return run


def trajectory(derivative: Any, x: np.ndarray, u: np.ndarray, times: np.ndarray) -> np.ndarray:
    """States at `times` with row i of `u` holding from times[i]; restarted where it changes."""
    jumps = [0, *(np.flatnonzero(np.any(np.diff(u, axis=0) != 0.0, axis=1)) + 1)]
    # The last row repeats the input just before the end, so no piece starts there.
    starts = [i for i in jumps if i < len(times) - 1]
    rows = [np.asarray(x)[None]]
    for start, end in zip(starts, [*starts[1:], len(times) - 1], strict=True):
        rows.append(flow(derivative, rows[-1][-1], u[start], times[start : end + 1])[1:])
    return np.concatenate(rows)
