"""Policies that drive a vehicle, and costs that evaluate a rollout.

A `Policy` is a function of a vehicle's state, a reference and a memory. It is compiled together
with the vehicle (`Fleet.rollout(policy=...)`), so that many closed loops run as fast as many
vehicles. The contract of its function `act`:

1. Its arguments are named: `x` (the vehicle's state), `m` (its own memory), `r` (the reference of
   this step), `p` (its parameters) and `dt` (the step in s).
2. It returns `(u, m)`: the vehicle's input for the coming step and the memory after it; a policy
   without memory returns `u` alone.
3. It is called once per step, at its start. The input is constant over the step, substeps included.
4. It is pure: built from `skidpad.ops` and arithmetic, no memory of its own, no `if` on a value.

    def act(x, m, r, p, dt):
        error = r.v - x.v_x
        tau = p.k_p * error + m.integral
        return Input(tau_rl=tau, tau_rr=tau), Memory(m.integral + p.k_i * error * dt)

A `Cost` of a rollout is a sum over its steps and a value at its end:

    J = Σ stage(x_k, u_k, ...) for k = 0 … T-1, plus terminal(x_T, ...)

Both are pure functions in `skidpad.ops` over records, traced and differentiated like a vehicle.
Their arguments are named: `x` (the vehicle's state), `u` (its input), `p` (its parameters) and `r`
(a reference record that the user defines, which may be different at every step):

    Cost(stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer**2, terminal=lambda x: x.y**2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..errors import InvalidValue
from . import record
from .files import brief_repr
from .model import Constant, arguments, pickled_fields

ARGUMENTS = ("x", "m", "r", "p", "dt")
"""Argument names of a policy: state, memory, reference, parameters, step."""


class Nothing(NamedTuple):
    """The empty record of a policy without memory, reference or parameters."""


@dataclass(frozen=True)
class Policy(Constant):
    """A control law and its records; see the docstring of this module for the contract."""

    act: Callable[..., Any]
    """The control law, a function with arguments among `x`, `m`, `r`, `p` and `dt`."""
    Memory: type = Nothing
    """Record class of its memory, a NamedTuple; the defaults are the initial values."""
    Reference: type = Nothing
    """Record class of its reference at each step, a NamedTuple."""
    Params: type = Nothing
    """Record class of its gains and limits, a NamedTuple. Each vehicle of a fleet may have its
    own."""
    params: Any = None
    """Parameter values: a `Params` record, or a mapping of those that differ from their
    defaults.
    """
    name: str = "policy"
    """Name in error messages and files."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        records = {"m": self.Memory, "r": self.Reference, "p": self.Params}
        for kind in records.values():
            if not record.is_record_type(kind):
                raise InvalidValue(f"{self._label}: {kind!r} must be a typing.NamedTuple class")
        try:
            record.build(self.Memory)
        except InvalidValue as error:
            raise InvalidValue(f"{self._label} needs initial values: {error}") from error
        object.__setattr__(self, "params", record.build(self.Params, self.params))
        for name in self.arguments:
            if name not in ARGUMENTS:
                raise InvalidValue(
                    record.unknown_name(self._label, name, ARGUMENTS, noun="argument")
                )
            if name in records and not record.size(records[name]):
                missing = {"m": "Memory", "r": "Reference", "p": "Params"}[name]
                raise InvalidValue(f"{self._label} takes {name}, but has no {missing} record")

    @property
    def _label(self) -> str:
        return f"policy {self.name!r}"

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields(self._label, self, "pickle fleet.closed_loop(policy)")

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments of `act`."""
        return arguments(f"{self._label}: act", self.act, ARGUMENTS)

    def command(self, x: Any, m: Any, r: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """Input for the coming step and the memory after it, on floats or traced values."""
        values = {"x": x, "m": m, "r": r, "p": p, "dt": dt}
        answer = self.act(**{name: values[name] for name in self.arguments})
        if record.is_record_type(type(answer)) and not record.size(self.Memory):
            return answer, self.Memory()
        # A record is a tuple too, so an input with two fields must not be mistaken for a pair.
        if type(answer) is not tuple or len(answer) != 2 or not isinstance(answer[1], self.Memory):
            expected = f"(u, m) with m a {self.Memory.__qualname__} record"
            expected = expected if record.size(self.Memory) else "the vehicle's input, a record"
            raise InvalidValue(f"{self._label} must return {expected}; it returned {answer!r}")
        return answer

    def controller(self, dt: float, *, reference: Any = None, params: Any = None) -> Controller:
        """Convert the policy to a controller for `Simulator.run`, a function of time and state.

        `reference` is a constant record or mapping, or a function of time that returns one;
        `params` are those of the policy if None. The controller stores the memory between calls.
        """
        params = record.build(self.Params, params, base=self.params)
        return Controller(self, dt, params, reference)


class Controller:
    """Controller for `Simulator.run` made from a policy; it keeps the policy's memory between
    calls.
    """

    def __init__(self, policy: Policy, dt: float, params: Any, reference: Any) -> None:
        self.policy, self.dt, self.params, self.reference = policy, dt, params, reference
        self.memory: Any = record.build(policy.Memory)

    def __call__(self, t: float, x: Any) -> Any:
        """Input for the step that starts at time `t`, in s, in state `x`."""
        r = self.reference(t) if callable(self.reference) else self.reference
        r = record.build(self.policy.Reference, r)
        u, self.memory = self.policy.command(x, self.memory, r, self.params, self.dt)
        return u


STAGE_ARGUMENTS = ("x", "u", "p", "r")
"""Argument names of a stage cost: state, input, parameters, reference."""
TERMINAL_ARGUMENTS = ("x", "p", "r")
"""Argument names of a terminal cost: state, parameters, reference."""


class NoReference(NamedTuple):
    """The empty reference record of a cost."""


@dataclass(frozen=True)
class Cost(Constant):
    """A stage cost, a terminal cost or both; the module docstring lists their arguments."""

    stage: Callable[..., Any] | None = None
    """Cost of one step, from the state at its start and the input over it."""
    terminal: Callable[..., Any] | None = None
    """Cost of the state after the last step."""
    Reference: type = NoReference
    """Record class of `r`, a NamedTuple; there is one for every step and one for the end."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.stage is None and self.terminal is None:
            raise InvalidValue("a cost needs a stage or a terminal function; got neither")
        if not record.is_record_type(self.Reference):
            raise InvalidValue(
                f"Reference = {self.Reference!r} of a cost must be a typing.NamedTuple class"
            )
        for name, function, allowed in (
            ("stage", self.stage, STAGE_ARGUMENTS),
            ("terminal", self.terminal, TERMINAL_ARGUMENTS),
        ):
            if function is not None:
                self._check(name, function, allowed)

    def _check(self, part: str, function: Callable[..., Any], allowed: tuple[str, ...]) -> None:
        names = _arguments(part, function)
        for name in names:
            if name not in allowed:
                raise InvalidValue(
                    record.unknown_name(f"a {part} cost", name, allowed, noun="argument")
                )
        if "r" in names and not record.size(self.Reference):
            raise InvalidValue(f"the {part} cost takes r, but the cost has no Reference record")

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a cost", self, "take a fleet that was saved with it (Fleet.save)")

    @classmethod
    def of(cls, cost: Cost | Callable[..., Any]) -> Cost:
        """Return a cost; a plain function becomes a stage cost if it takes `u`, else a terminal
        cost."""
        if isinstance(cost, Cost):
            return cost
        takes_input = "u" in _arguments("given", cost)
        return cls(stage=cost) if takes_input else cls(terminal=cost)

    def at_step(self, x: Any, u: Any, p: Any, r: Any) -> Any:
        """Stage cost of one step; 0.0 without a stage cost."""
        return _called("stage", self.stage, {"x": x, "u": u, "p": p, "r": r})

    def at_end(self, x: Any, p: Any, r: Any) -> Any:
        """Terminal cost; 0.0 without one."""
        return _called("terminal", self.terminal, {"x": x, "p": p, "r": r})


def _called(part: str, function: Callable[..., Any] | None, values: dict[str, Any]) -> Any:
    if function is None:
        return 0.0
    return function(**{name: values[name] for name in _arguments(part, function)})


def _arguments(part: str, function: Any) -> tuple[str, ...]:
    return arguments(f"the {part} cost", function, STAGE_ARGUMENTS)
