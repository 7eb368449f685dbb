"""What drives a vehicle: a function of its state, a reference and what the driver remembers.

A `Policy` is compiled together with a vehicle (`Fleet.rollout(policy=...)`), so that many
closed loops run as fast as many vehicles. The contract of its function `act`:

1. It names what it needs: `x` (the vehicle's state), `m` (its own memory), `r` (the reference of
   this step), `p` (its parameters) and `dt` (the step in s).
2. It returns `(u, m)`: the vehicle's input for the coming step and the memory after it; a policy
   without memory returns `u` alone.
3. It is called once per step, at its start. The input is held over the step, sub-steps included.
4. It is pure: built from `skidpad.ops` and arithmetic, no memory of its own, no `if` on a value.

    def act(x, m, r, p, dt):
        error = r.v - x.v_x
        tau = p.k_p * error + m.integral
        return Input(tau_rl=tau, tau_rr=tau), Memory(m.integral + p.k_i * error * dt)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from . import record
from .brief import brief_repr
from .errors import InvalidValue
from .signature import Constant, arguments, pickled_fields

__all__ = ["ARGUMENTS", "Controller", "Nothing", "Policy"]

ARGUMENTS = ("x", "m", "r", "p", "dt")
"""What a policy may ask for: state, memory, reference, parameters, step."""


class Nothing(NamedTuple):
    """The empty record of a policy without memory, reference or parameters."""


@dataclass(frozen=True)
class Policy(Constant):
    """A control law and the records it uses; see the module text for the contract."""

    act: Callable[..., Any]
    """The control law."""
    Memory: type = Nothing
    """What it remembers from step to step, a NamedTuple; the defaults are the values at start."""
    Reference: type = Nothing
    """What it is told at each step, a NamedTuple."""
    Params: type = Nothing
    """Its gains and limits, a NamedTuple. Each vehicle of a fleet may have its own."""
    params: Any = None
    """A `Params` record, or a mapping of those that differ from their defaults."""
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
            raise InvalidValue(f"{self._label} must know where to start: {error}") from error
        object.__setattr__(self, "params", record.build(self.Params, self.params))
        for name in self.arguments:
            if name not in ARGUMENTS:
                raise InvalidValue(
                    record.unknown_name(self._label, name, ARGUMENTS, noun="argument")
                )
            if name in records and not record.size(records[name]):
                missing = {"m": "Memory", "r": "Reference", "p": "Params"}[name]
                raise InvalidValue(f"{self._label} asks for {name}, but has no {missing} record")

    @property
    def _label(self) -> str:
        return f"policy {self.name!r}"

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields(self._label, self, "pickle fleet.closed_loop(policy)")

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments that `act` has to be given."""
        return arguments(f"{self._label}: act", self.act, ARGUMENTS)

    def command(self, x: Any, m: Any, r: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """Input for the coming step and the memory after it, on floats or traced values."""
        values = {"x": x, "m": m, "r": r, "p": p, "dt": dt}
        answer = self.act(**{name: values[name] for name in self.arguments})
        if record.is_record_type(type(answer)) and not record.size(self.Memory):
            return answer, self.Memory()
        # A record is a tuple too, so an input of two fields is not to be taken for a pair.
        if type(answer) is not tuple or len(answer) != 2 or not isinstance(answer[1], self.Memory):
            expected = f"(u, m) with m a {self.Memory.__qualname__} record"
            expected = expected if record.size(self.Memory) else "the vehicle's input, a record"
            raise InvalidValue(f"{self._label} must return {expected}; it returned {answer!r}")
        return answer

    def controller(self, dt: float, *, reference: Any = None, params: Any = None) -> Controller:
        """The policy for `Simulator.run`: called with time and state, it keeps the memory.

        `reference` is a record or mapping held throughout, or a function of time that returns one;
        `params` are the policy's own if None.
        """
        params = record.build(self.Params, params, base=self.params)
        return Controller(self, dt, params, reference)


class Controller:
    """A policy as `Simulator.run` calls one: a shell that keeps the memory between calls."""

    def __init__(self, policy: Policy, dt: float, params: Any, reference: Any) -> None:
        self.policy, self.dt, self.params, self.reference = policy, dt, params, reference
        self.memory: Any = record.build(policy.Memory)

    def __call__(self, t: float, x: Any) -> Any:
        """Input for the step that starts at time `t`, in s, in state `x`."""
        told = self.reference(t) if callable(self.reference) else self.reference
        r = record.build(self.policy.Reference, told)
        u, self.memory = self.policy.command(x, self.memory, r, self.params, self.dt)
        return u
