"""Where the checks look: states and inputs drawn from ranges that follow from names and units.

| field | range |
|---|---|
| `x`, `y` in m | -100 to 100 |
| `yaw` and other headings | -4 to 4 rad, not wrapped |
| `v_x`, `v`, `speed` | -3 to 30 m/s |
| `v_y` and other velocities | -3 to 3 m/s |
| `steer`, `delta` | within `steer_max` or `delta_max` of the parameters, else 0.4 rad |
| other angles | -0.4 to 0.4 rad |
| `omega_fl` ... (wheel spin) | -10 to 100 rad/s |
| `omega` and other angular rates | -2 to 2 rad/s |
| torques / forces / accelerations | ±100 N·m / ±500 N / ±3 m/s² |
| pure numbers | 0 to 1; in a disturbance 0.5 to 1 times the default |
| all others | -1 to 1 |

A range in the field's annotation cuts these. In every second state all velocities and angular
rates are multiplied by one factor from 0.001 to 1, because models change character at low speed.
Each field has its own stream, keyed by the seed and its name: adding a field changes no other
field's values.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..record import Field
from .names import tokens

_BY_UNIT: dict[str, tuple[float, float]] = {
    "rad": (-0.4, 0.4),
    "rad/s": (-2.0, 2.0),
    "m/s": (-3.0, 3.0),
    "m/s²": (-3.0, 3.0),
    "N": (-500.0, 500.0),
    "N·m": (-100.0, 100.0),
    "1": (0.0, 1.0),
}
_BY_WORD: dict[tuple[str, str], tuple[float, float]] = {
    ("x", "m"): (-100.0, 100.0),
    ("y", "m"): (-100.0, 100.0),
    ("yaw", "rad"): (-4.0, 4.0),
    ("heading", "rad"): (-4.0, 4.0),
    ("psi", "rad"): (-4.0, 4.0),
    ("speed", "m/s"): (-3.0, 30.0),
}
_FORWARD = ("v_x", "v")
_CORNERS = {"fl", "fr", "rl", "rr"}
_STEERING = {"steer", "steering", "delta"}


def lock(params: Any) -> float:
    """The largest steering angle in rad: the parameter that says so, else 0.4."""
    leaves = dict(zip(record.names(type(params)), record.flatten(params), strict=True))
    return next((float(leaves[n]) for n in ("steer_max", "delta_max") if n in leaves), 0.4)


def sampling_range(leaf: Field, params: Any) -> tuple[float, float]:
    """The range a field is drawn from; see the table above."""
    words, symbol = tokens(leaf.name), leaf.unit.symbol
    if symbol == "rad" and _STEERING & set(words):
        low, high = -lock(params), lock(params)
    elif symbol == "m/s" and leaf.name in _FORWARD:
        low, high = -3.0, 30.0
    elif symbol == "rad/s" and _CORNERS & set(words):
        low, high = -10.0, 100.0
    else:
        by_word = (_BY_WORD.get((word, symbol)) for word in words)
        low, high = next((r for r in by_word if r), _BY_UNIT.get(symbol, (-1.0, 1.0)))
    if leaf.allowed is not None:
        low, high = max(low, leaf.allowed.low), min(high, leaf.allowed.high)
    return low, high


def sample(kind: type, role: str, count: int, seed: int, params: Any) -> Array:
    """A (count, fields) array of draws for a record class."""
    columns: list[Array] = []
    for leaf in record.fields(kind):
        low, high = sampling_range(leaf, params)
        if role == "disturbance" and leaf.unit.symbol == "1":
            low, high = sorted((0.5 * (leaf.default or 0.0), leaf.default or 0.0))
        drawn = _stream(seed, f"{role}.{leaf.name}").uniform(low, high, count)
        if role == "state" and leaf.unit.symbol in ("m/s", "rad/s"):
            drawn = drawn * _slowness(count, seed)
        columns.append(drawn)
    return np.column_stack(columns or [np.empty((count, 0))])


def _slowness(count: int, seed: int) -> Array:
    """The factor on all velocities of each state: 1 for every second one."""
    factors = 10.0 ** _stream(seed, "slowness").uniform(-3.0, 0.0, count)
    factors[::2] = 1.0
    return factors


def _stream(seed: int, name: str) -> np.random.Generator:
    # A counter-based generator: its stream depends on the key alone, on any machine.
    key = [seed % 2**64, zlib.crc32(name.encode())]
    return np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64)))
