"""What a rollout is to be judged by: a sum over its steps and a value at its end.

    J = Σ stage(x_k, u_k, ...) for k = 0 … T-1, plus terminal(x_T, ...)

Both are pure functions in `skidpad.ops` over records, traced and differentiated like a vehicle.
They name what they need: `x` (the vehicle's state), `u` (its input), `p` (its parameters) and `r`
(a reference record of the user's own, which may be different at every step):

    Cost(stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer**2, terminal=lambda x: x.y**2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import record
from .brief import brief_repr
from .errors import InvalidValue
from .signature import Constant, arguments, pickled_fields

__all__ = ["STAGE_ARGUMENTS", "TERMINAL_ARGUMENTS", "Cost", "NoReference"]

STAGE_ARGUMENTS = ("x", "u", "p", "r")
"""What a stage cost may ask for: state, input, parameters, reference."""
TERMINAL_ARGUMENTS = ("x", "p", "r")
"""What a terminal cost may ask for: state, parameters, reference."""


class NoReference(NamedTuple):
    """The reference record of a cost that takes none."""


@dataclass(frozen=True)
class Cost(Constant):
    """A stage cost, a terminal cost or both; see the module text for what they are given."""

    stage: Callable[..., Any] | None = None
    """Cost of one step, from the state at its start and the input over it."""
    terminal: Callable[..., Any] | None = None
    """Cost of the state that the last step leads to."""
    Reference: type = NoReference
    """The record `r`, a NamedTuple; there is one for every step and one for the end."""

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
            raise InvalidValue(f"the {part} cost asks for r, but the cost has no Reference record")

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a cost", self, "take a fleet that was saved with it (Fleet.save)")

    @classmethod
    def of(cls, cost: Cost | Callable[..., Any]) -> Cost:
        """The cost itself, or a plain function as one: a stage cost if it takes `u`, else a
        terminal cost."""
        if isinstance(cost, Cost):
            return cost
        takes_input = "u" in _arguments("given", cost)
        return cls(stage=cost) if takes_input else cls(terminal=cost)

    def at_step(self, x: Any, u: Any, p: Any, r: Any) -> Any:
        """The stage cost of one step; 0.0 if there is none."""
        return _called("stage", self.stage, {"x": x, "u": u, "p": p, "r": r})

    def at_end(self, x: Any, p: Any, r: Any) -> Any:
        """The terminal cost; 0.0 if there is none."""
        return _called("terminal", self.terminal, {"x": x, "p": p, "r": r})


def _called(part: str, function: Callable[..., Any] | None, values: dict[str, Any]) -> Any:
    if function is None:
        return 0.0
    return function(**{name: values[name] for name in _arguments(part, function)})


def _arguments(part: str, function: Any) -> tuple[str, ...]:
    """Names of the arguments that a cost function has to be given."""
    return arguments(f"the {part} cost", function, STAGE_ARGUMENTS)
