"""The vehicle under test: its equations as rates, sampled points, symbols, and the report.

The name of a field determines its side of the vehicle, its sign under mirroring and its frame.
Names are split into tokens (`F_y_fl` is `F`, `y`, `fl`), which mean the same in any vehicle as in
the built-in records.

States and inputs are sampled from ranges that follow from names and units:

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

The range in the field's annotation limits these. In every second state all velocities and angular
rates are multiplied by one factor from 0.001 to 1, because models change character at low speed.
Each field has its own stream, keyed by the seed and its name: adding a field changes no other
field's values.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.body import Body, Demand, Pose, Velocity
from ..core.files import brief_repr
from ..core.model import Model, Vehicle
from ..core.record import Field
from ..errors import SkidpadError
from ..units import Unit

_OTHER_SIDE = {"fl": "fr", "fr": "fl", "rl": "rr", "rr": "rl", "left": "right", "right": "left"}
_NAMES_CORNERS = frozenset({"fl", "fr", "rl", "rr"})
_ODD_WORDS = frozenset(
    {"yaw", "heading", "psi", "steer", "steering", "delta", "alpha", "beta", "roll", "curvature"}
)
"""Names of quantities that are positive to the left, so that mirroring changes their sign."""
_AXIAL = frozenset({"omega", "M"})
"""Names of axial vectors (rotations): a mirror negates their x and z components, not y."""


def tokens(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[._]", name) if word)


def is_odd(name: str) -> bool:
    """Whether a quantity with this name changes its sign when left and right are exchanged."""
    words = set(tokens(name))
    if words & _ODD_WORDS:
        return True
    if words & _AXIAL:
        # omega_fl is the spin of a wheel about its axle (the y axis), omega alone the yaw rate.
        about_y = "y" in words or ("omega" in words and bool(words & _NAMES_CORNERS))
        return not about_y
    return "y" in words


def mirrored_name(name: str) -> str:
    """Name of the corresponding field on the other side of the vehicle."""
    words = re.split(r"([._])", name)
    return "".join(_OTHER_SIDE.get(word, word) for word in words)


def mirror_signs(kind: type, odd: Mapping[str, bool] | None) -> dict[str, float]:
    """Sign of each leaf under mirroring, -1 or 1; `odd` overrides the rule by name."""
    rule = odd or {}
    return {name: -1.0 if rule.get(name, is_odd(name)) else 1.0 for name in record.names(kind)}


def mirrored(value: Any, signs: Mapping[str, float]) -> Any:
    """Mirror image of a record: sides exchanged, odd quantities negated."""
    kind = type(value)
    leaves = dict(zip(record.names(kind), record.flatten(value), strict=True))
    other = {name: mirrored_name(name) for name in leaves}
    return record.unflatten(
        kind,
        [signs[name] * leaves[other[name] if other[name] in leaves else name] for name in leaves],
    )


def position_pairs(kind: type) -> list[tuple[str, str]]:
    """Pairs of fields that are world positions: `x` and `y` in metres, also `x_trailer`,
    `y_trailer`."""
    units = {leaf.name: leaf.unit for leaf in record.fields(kind)}
    pairs: list[tuple[str, str]] = []
    for name, unit in units.items():
        words = tokens(name)
        if unit.symbol == "m" and words.count("x") == 1 and not words[0].isupper():
            partner = re.sub(r"(^|[._])x(?=$|[._])", r"\1y", name)
            if partner in units:
                pairs.append((name, partner))
    return pairs


def headings(kind: type) -> list[str]:
    """Names of fields that are world headings: angles named `yaw`, `heading`, `psi`, or
    `yaw_trailer`.
    """
    words = {"yaw", "heading", "psi"}
    return [
        leaf.name
        for leaf in record.fields(kind)
        if leaf.unit.symbol == "rad" and words & set(tokens(leaf.name))
    ]


def is_motion(name: str) -> bool:
    """Whether a state is a pose or a velocity of the body, rather than an actuator position."""
    words = tokens(name)
    return words[-1] in {"x", "y", "yaw", "heading", "psi", "omega", "v", "z"} or words[0] == "v"


def is_effort(unit: Unit) -> bool:
    """Whether a unit belongs to quantities that drive a vehicle: torque, force, power,
    acceleration.
    """
    return unit.mass != 0.0 or unit.dimension == (1.0, 0.0, -2.0)


_BY_UNIT: dict[str, tuple[float, float]] = {
    "rad": (-0.4, 0.4), "rad/s": (-2.0, 2.0), "m/s": (-3.0, 3.0), "m/s²": (-3.0, 3.0),
    "N": (-500.0, 500.0), "N·m": (-100.0, 100.0), "1": (0.0, 1.0),
}  # fmt: skip
_BY_WORD: dict[tuple[str, str], tuple[float, float]] = {
    ("x", "m"): (-100.0, 100.0), ("y", "m"): (-100.0, 100.0), ("yaw", "rad"): (-4.0, 4.0),
    ("heading", "rad"): (-4.0, 4.0), ("psi", "rad"): (-4.0, 4.0), ("speed", "m/s"): (-3.0, 30.0),
}  # fmt: skip
_FORWARD = ("v_x", "v")
_CORNERS = {"fl", "fr", "rl", "rr"}
_STEERING = {"steer", "steering", "delta"}


def lock(params: Any) -> float:
    """Largest steering angle in rad: from the parameters, else 0.4."""
    leaves = dict(zip(record.names(type(params)), record.flatten(params), strict=True))
    return next((float(leaves[n]) for n in ("steer_max", "delta_max") if n in leaves), 0.4)


def sampling_range(leaf: Field, params: Any) -> tuple[float, float]:
    """Sampling range of a field; see the table in the docstring of this module."""
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
    """Random values (count, fields) for a record class."""
    columns: list[Array] = []
    for leaf in record.fields(kind):
        low, high = sampling_range(leaf, params)
        if role == "disturbance" and leaf.unit.symbol == "1":
            low, high = sorted((0.5 * (leaf.default or 0.0), leaf.default or 0.0))
        drawn = _stream(seed, f"{role}.{leaf.name}").uniform(low, high, count)
        if role == "state" and leaf.unit.symbol in ("m/s", "rad/s"):
            slowness = 10.0 ** _stream(seed, "slowness").uniform(-3.0, 0.0, count)
            slowness[::2] = 1.0
            drawn = drawn * slowness
        columns.append(drawn)
    return np.column_stack(columns or [np.empty((count, 0))])


def _stream(seed: int, name: str) -> np.random.Generator:
    # A counter-based generator: its stream depends on the key alone, on any machine.
    key = [seed % 2**64, zlib.crc32(name.encode())]
    return np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64)))


SAMPLES = 60
DT = 0.01
"""Step in s at which discrete models are evaluated."""


DEMAND = Demand(steer=0.03, a=0.4, v=3.0, omega=0.05, handbrake=0.2)
"""Demand for checks in which any demand will do."""


class Function(NamedTuple):
    """A function of the model or its body, of x, u, w and p, with its result class."""

    name: str
    """Prefix of its fault messages; empty for rates and outputs."""
    kind: type
    call: Callable[[Any, Any, Any, Any], Any]
    floor: float = 0.0
    """Smallest scale of its values for comparisons; see `differences`."""


class NotApplicable(Exception):
    """Raised by a check that does not apply to the model."""


class Point(NamedTuple):
    """Arguments of the model functions, without the parameters."""

    x: Any
    u: Any
    w: Any


@dataclass(frozen=True)
class Subject:
    """The vehicle under test, and the seed of its samples."""

    vehicle: Vehicle
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the vehicle."""
        return self.vehicle.name

    @property
    def model(self) -> Model:
        """Equations of the vehicle."""
        return self.vehicle.model

    @property
    def params(self) -> Any:
        """Parameters of the vehicle."""
        return self.vehicle.params

    @property
    def body(self) -> Body:
        """Body of the vehicle; raises `NotApplicable` without one."""
        if self.model.body is None:
            raise NotApplicable("the model has no body; see docs/bodies.md")
        return self.model.body

    def rate(self, x: Any, u: Any, w: Any, p: Any, dt: Any = DT) -> Any:
        """Derivative of the state; for a discrete model, the change over one step divided by its
        length.

        This lets every check be written once for both kinds of model.
        """
        model = self.model
        if model.update is None:
            return self.vehicle.derivative(x, u, w, p)
        after = record.flatten(self.updated(x, u, w, p, dt))
        before = record.flatten(x)
        change = [(b - a) / dt for a, b in zip(before, after, strict=True)]
        return record.unflatten(model.State, change)

    def updated(self, x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        """State of a discrete model one step of `dt` (s) later."""
        model = self.model
        assert model.update is not None
        return model.update(x, model.held_input(x, u, w, p), w, p, dt)

    def functions(self) -> list[Function]:
        """All functions that must be pure: rates, outputs, and the functions of the body."""
        model, body = self.model, self.model.body
        own = [
            Function("", model.State, self.rate),
            Function("", model.Outputs, self.vehicle.outputs),
        ]
        if body is None:
            return own
        there, moving = Pose(1.0, 2.0, 3.0), Velocity(4.0, 0.5, 0.2)
        return [
            *own,
            Function("pose ", Pose, lambda x, u, w, p: body.pose(x, p), 1.0),
            Function("velocity ", Velocity, lambda x, u, w, p: body.velocity(x, u, p), 1.0),
            Function(
                "placed ", model.State, lambda x, u, w, p: body.placed(x, there, moving, p), 1.0
            ),
            Function("command ", model.Input, lambda x, u, w, p: body.command(x, DEMAND, p), 1.0),
        ]

    def settled(self, x: Any) -> Any:
        """State made consistent, as by `reset`."""
        return x if self.model.settle is None else self.model.settle(x, self.params)

    def point(
        self, x: Sequence[float], u: Sequence[float], w: Sequence[float] | None = None
    ) -> Point:
        """Make a point from flat values; with the default disturbance if `w` is None."""
        model = self.model
        calm = record.build(model.Disturbance)
        return Point(
            self.settled(record.unflatten(model.State, list(x))),
            record.unflatten(model.Input, list(u)),
            calm if w is None else record.unflatten(model.Disturbance, list(w)),
        )

    @cached_property
    def points(self) -> list[Point]:
        """Random points with random disturbances."""
        return [self.point(*rows) for rows in zip(*self._draws(), strict=True)]

    @cached_property
    def calm_points(self) -> list[Point]:
        """The same random points with the default disturbance."""
        calm = record.build(self.model.Disturbance)
        return [point._replace(w=calm) for point in self.points]

    def _draws(self) -> tuple[Any, ...]:
        model = self.model
        kinds = {"state": model.State, "input": model.Input, "disturbance": model.Disturbance}
        return tuple(
            sample(kind, role, SAMPLES, self.seed, self.params).tolist()
            for role, kind in kinds.items()
        )

    def rates(self, points: Iterable[Point], p: Any = None) -> Array:
        """Rates at many points, evaluated on floats, (points, states)."""
        p = self.params if p is None else p
        return table(self.rate(*point, p) for point in points)

    def outputs(self, points: Iterable[Point], p: Any = None) -> Array:
        """Outputs at many points, evaluated on floats, (points, outputs)."""
        p = self.params if p is None else p
        return table(self.vehicle.outputs(*point, p) for point in points)


def table(records: Iterable[Any]) -> Array:
    return np.array([record.flatten(row) for row in records], dtype=float)


def differences(
    what: str,
    kind: type,
    values: Array,
    want: Array,
    tolerance: float,
    points: Sequence[Point],
    floor: float = 0.0,
) -> list[str]:
    """A sentence for each field in which two tables differ by more than the tolerance.

    `tolerance` is relative to the larger of the value and the column's scale, which is at least
    `floor`; NaN never agrees.
    """
    faults: list[str] = []
    for j, name in enumerate(record.names(kind)):
        a, b = values[:, j], want[:, j]
        scale = np.maximum(np.abs(b), np.abs(b[np.isfinite(b)]).max(initial=floor))
        with np.errstate(invalid="ignore"):
            wrong = ~(np.abs(a - b) <= tolerance * scale)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            faults.append(f"{what}: {name} is {a[i]:.15g}, expected {b[i]:.15g}, at {points[i].x}")
    return faults


class Symbols(NamedTuple):
    """Symbolic columns for state, input, disturbance and parameters, with their records."""

    columns: tuple[Any, Any, Any, Any]
    records: tuple[Any, Any, Any, Any]


def symbols(subject: Subject) -> Symbols:
    import casadi

    model = subject.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    columns: list[Any] = []
    records: list[Any] = []
    for name, kind in kinds.items():
        leaves = [casadi.SX.sym(f"{name}.{leaf}") for leaf in record.names(kind)]
        columns.append(casadi.vertcat(*leaves) if leaves else casadi.SX(0, 1))
        records.append(record.unflatten(kind, leaves))
    return Symbols(tuple(columns), tuple(records))


def column(value: Any) -> Any:
    import casadi

    leaves = record.flatten(value)
    return casadi.vertcat(*map(casadi.SX, leaves)) if leaves else casadi.SX(0, 1)


def arguments(subject: Subject, point: Point) -> list[Any]:
    """Flat numbers for the arguments of a function of `Symbols.columns`."""
    import casadi

    parts = (*point, subject.params)
    return [casadi.DM([float(v) for v in record.flatten(part)]) for part in parts]


Status = Literal["passed", "failed", "exempt", "not applicable"]


class ConformanceError(SkidpadError, AssertionError):
    """Raised if a vehicle fails a check; the message lists every fault found."""


@dataclass(frozen=True)
class Result:
    """Outcome of one conformance check."""

    name: str
    status: Status
    detail: str = ""
    """The faults, one per line; for a check that does not apply, the reason."""
    reason: str = ""
    """Reason why the model is exempt."""

    @property
    def passed(self) -> bool:
        """Whether the status is anything but "failed"."""
        return self.status != "failed"

    @property
    def exemption_needed(self) -> bool:
        """Whether an exempt check would fail; if it would not, the exemption should be removed."""
        return self.status == "exempt" and bool(self.detail)

    def __str__(self) -> str:
        note = self.reason if self.status == "exempt" else self.detail
        indented = note.replace("\n", "\n" + " " * 28)
        return f"{self.name:<11} {self.status:<15} {indented}".rstrip()


@dataclass(frozen=True)
class Report:
    """Results of all checks on one vehicle; printed as a table."""

    vehicle: str
    results: tuple[Result, ...]

    __repr__ = brief_repr

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(result.passed for result in self.results)

    @property
    def failed(self) -> tuple[Result, ...]:
        """Results of the checks that failed."""
        return tuple(result for result in self.results if not result.passed)

    def __getitem__(self, name: str) -> Result:
        by_check = {result.name: result for result in self.results}
        record.check_names("report", [name], by_check, "check")
        return by_check[name]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def raise_if_failed(self) -> None:
        """Raise `ConformanceError` with every fault, unless all checks passed."""
        if not self.passed:
            raise ConformanceError(
                "\n".join([f"{self.vehicle} does not conform", *map(str, self.failed)])
            )

    def __str__(self) -> str:
        return "\n".join([self.vehicle, *(f"  {result}" for result in self.results)])
