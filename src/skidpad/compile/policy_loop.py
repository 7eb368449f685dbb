"""A vehicle and its policy as what the Programs of a closed loop are traced from.

Its records are the vehicle's with those of the policy behind them: the memory behind the state, the
policy's parameters behind the vehicle's, the command behind the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_type_hints

from .. import record
from ..errors import InvalidValue
from ..integrate.as_written import as_written
from ..model import Model
from ..policy import Policy
from .program import Port

MEMORY, POLICY, COMMAND = "memory", "policy", "command"
"""Fields that a closed loop adds to the vehicle's state, parameters and outputs."""


class Loop(NamedTuple):
    """A model, what drives it, and the records that the two have together."""

    model: Model
    policy: Policy
    State: type
    Params: type
    Outputs: type

    @classmethod
    def of(cls, model: Model, policy: Policy) -> Loop:
        """The loop of a model and a policy."""
        return cls(
            model,
            policy,
            _with(model.State, MEMORY, policy.Memory, policy.Memory()),
            _with(model.Params, POLICY, policy.Params, policy.params),
            _with(model.Outputs, COMMAND, model.Input, None),
        )

    @property
    def ports(self) -> tuple[Port, Port, Port, Port]:
        """The ports x, u, w, p; the input is the reference."""
        kinds = (self.State, self.policy.Reference, self.model.Disturbance, self.Params)
        x, u, w, p = (Port(n, record.names(k)) for n, k in zip("xuwp", kinds, strict=True))
        return x, u, w, p

    def parts(self, state: Sequence[Any]) -> tuple[Any, Any]:
        """Vehicle state and memory."""
        return _split(self.model.State, self.policy.Memory, state)

    def reference(self, values: Sequence[Any]) -> Any:
        """What the policy is told."""
        return record.unflatten(self.policy.Reference, values)

    def disturbance(self, values: Sequence[Any]) -> Any:
        """What disturbs the vehicle."""
        return record.unflatten(self.model.Disturbance, values)

    def params(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Parameters of the vehicle and of the policy."""
        return _split(self.model.Params, self.policy.Params, values)

    def command(self, x: Any, m: Any, r: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """The vehicle's input and the next memory."""
        with as_written(dt):
            u, following = self.policy.command(x, m, r, p, dt)
        if not isinstance(u, self.model.Input):
            raise InvalidValue(
                f"policy {self.policy.name!r} must command {self.model.name!r} with its Input "
                f"record ({', '.join(record.names(self.model.Input))}), got {u!r}"
            )
        return u, following


def _with(kind: type, name: str, inner: type, default: Any) -> type:
    """The record with one more field, itself a record; as it is if that would be empty."""
    if not record.size(inner):
        return kind
    fields: tuple[str, ...] = kind._fields
    if name in fields:
        raise InvalidValue(f"{kind.__qualname__}.{name}: a closed loop needs this name for itself")
    hints = get_type_hints(kind, include_extras=True)
    docs = {leaf.name: leaf.doc for leaf in record.fields(kind)}
    defaults = {**kind._field_defaults, name: default}
    return record.define(kind.__name__, {**hints, name: inner}, defaults, docs)


def _split(first: type, second: type, values: Sequence[Any]) -> tuple[Any, Any]:
    n = record.size(first)
    return record.unflatten(first, values[:n]), record.unflatten(second, values[n:])
