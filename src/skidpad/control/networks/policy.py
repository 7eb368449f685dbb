"""A network as a policy: what it sees of a vehicle, and what its outputs mean to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from ...core import record
from ...core.model import Constant, arguments, pickled_fields
from ...core.policy import ARGUMENTS, Nothing, Policy
from ...core.record import made_once
from ...errors import InvalidValue
from ...units import one
from .network import Network

HIDDEN = "hidden"
"""Field of the memory with what a network remembers."""
WEIGHTS = "network"
"""Field of the parameters with the weights of a network that is trained."""
ACT_ARGUMENTS = ("outputs", *ARGUMENTS)
"""What `act` may ask for."""


def network_policy(
    network: Network,
    observe: Callable[..., Any],
    act: Callable[..., Any],
    *,
    Memory: type = Nothing,
    Reference: type = Nothing,
    Params: type = Nothing,
    params: Any = None,
    trainable: bool = False,
    name: str = "network",
) -> Policy:
    """A policy that asks a network.

    Args:
        network: what it asks.
        observe: a function of any of `x`, `m`, `r`, `p` and `dt` (see `Policy`) that gives the
            values that the network takes, a tuple.
        act: a function of `outputs`, a tuple of what the network gives, and of any of these, that
            gives the vehicle's input; with a `Memory`, a pair of this and the next one.
        Memory, Reference, Params, params: records of the policy besides the network, as of
            `Policy`. What the network remembers lies behind the memory (`hidden.h_0`).
        trainable: whether the weights are parameters of the policy, behind the others
            (`network.layer_0.weight_1_0`), so that gradients are with respect to them and vehicles
            may have different ones; for up to about a thousand weights. Else they are constants of
            the compiled code, which is faster.
        name: of the policy.
    """
    if not isinstance(network, Network):
        raise InvalidValue(
            f"network must be a skidpad.control.networks.Network, got {network!r:.80}"
        )
    law = NetworkLaw(network, observe, act, Memory, Reference, Params, trainable, name)
    values: Any = params
    if trainable:
        own = () if not record.size(Params) else record.flatten(record.build(Params, params))
        values = record.unflatten(law.Params, (*own, *network.weights.tolist()))
    return _NetworkPolicy(law, law.Memory, Reference, law.Params, values, name)


def weights_of(policy: Policy) -> slice:
    """Where the weights of a policy that is trained are among its parameters."""
    law = policy.act
    if not isinstance(law, NetworkLaw) or not law.trainable:
        raise InvalidValue(f"policy {policy.name!r} has no network that is trainable")
    size = record.size(law.Params)
    return slice(size - law.network.weights.size, size)


@dataclass(frozen=True, eq=False)
class NetworkLaw(Constant):
    """The control law: observe, ask the network, act."""

    network: Network
    observe: Callable[..., Any]
    act: Callable[..., Any]
    OwnMemory: type
    Reference: type
    OwnParams: type
    trainable: bool
    name: str

    def __post_init__(self) -> None:
        for part, allowed in (("observe", ARGUMENTS), ("act", ACT_ARGUMENTS)):
            for asked in self._asked(part):
                if asked not in allowed:
                    label = f"{part} of policy {self.name!r}"
                    raise InvalidValue(record.unknown_name(label, asked, allowed, noun="argument"))
        if "outputs" not in self._asked("act"):
            raise InvalidValue(
                f"act of policy {self.name!r} must ask for `outputs`, what the network gives"
            )

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields(f"policy {self.name!r}", self, "pickle fleet.closed_loop(policy)")

    @property
    def Memory(self) -> type:
        """Memory of the policy."""
        hidden = self.network.hidden
        return memory_record(self.OwnMemory, hidden) if hidden else self.OwnMemory

    @property
    def Params(self) -> type:
        """Parameters of the policy."""
        if not self.trainable:
            return self.OwnParams
        names = tuple(layer.weight_names for layer in self.network.layers)
        return params_record(self.OwnParams, names)

    @property
    def __signature__(self) -> inspect.Signature:
        """Arguments that a `Policy` has to hand over."""
        asked = {*self._asked("observe"), *self._asked("act")}
        asked |= {"m"} if record.size(self.Memory) else set()
        asked |= {"p"} if self.trainable else set()
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature([inspect.Parameter(n, kind) for n in ARGUMENTS if n in asked])

    def __call__(self, **inputs: Any) -> Any:
        """The input that the network gives, with the memory of a policy that has one."""
        own, hidden, weights = dict(inputs), (), None
        if self.network.hidden:
            *remembered, hidden = inputs["m"]
            own["m"] = self.OwnMemory(*remembered)
        if self.trainable:
            *settings, layers = inputs["p"]
            own["p"], weights = self.OwnParams(*settings), record.flatten(layers)
        observation = self._called("observe", own)
        if not isinstance(observation, tuple | list) or len(observation) != self.network.inputs:
            raise InvalidValue(
                f"observe of policy {self.name!r} must give the {self.network.inputs} values that "
                f"the network takes, as a tuple; it gave {observation!r:.120}"
            )
        outputs, following = self.network.step(observation, tuple(hidden), weights)
        return self._with_memory(self._called("act", {**own, "outputs": outputs}), following)

    def _with_memory(self, answer: Any, hidden: tuple[Any, ...]) -> Any:
        """What `act` gave, with what the network remembers put behind its own memory."""
        if not self.network.hidden:
            return answer
        u, own = answer, self.OwnMemory()
        if record.size(self.OwnMemory):
            if type(answer) is not tuple or len(answer) != 2:
                raise InvalidValue(
                    f"act of policy {self.name!r} must return (u, m) with m a "
                    f"{self.OwnMemory.__qualname__} record; it returned {answer!r:.120}"
                )
            u, own = answer
        return u, self.Memory(*own, record.unflatten(_hidden_record(len(hidden)), hidden))

    def _asked(self, part: str) -> tuple[str, ...]:
        allowed = ACT_ARGUMENTS if part == "act" else ARGUMENTS
        return arguments(f"{part} of policy {self.name!r}", getattr(self, part), allowed)

    def _called(self, part: str, values: dict[str, Any]) -> Any:
        return getattr(self, part)(**{name: values[name] for name in self._asked(part)})


class _NetworkPolicy(Policy):
    """A policy that is pickled as its law: records that are made here are made there again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self.act, record.flatten(self.params))


def _made_again(law: NetworkLaw, params: tuple[float, ...]) -> Policy:
    records = (law.Memory, law.Reference, law.Params)
    return _NetworkPolicy(law, *records, record.unflatten(law.Params, params), law.name)


@made_once
def memory_record(own: type, hidden: int) -> type:
    """A memory with the hidden state of a network behind it."""
    inner = _hidden_record(hidden)
    return _behind(own, HIDDEN, inner, inner())


@made_once
def params_record(own: type, names: tuple[tuple[str, ...], ...]) -> type:
    """Parameters with the weights of a network behind them; names by layer."""
    layers = {f"layer_{k}": _weights_record(layer) for k, layer in enumerate(names)}
    return _behind(own, WEIGHTS, record.define("Weights", layers), None)


@made_once
def _weights_record(names: tuple[str, ...]) -> type:
    return record.define("Layer", dict.fromkeys(names, one))


@made_once
def _hidden_record(count: int) -> type:
    names = [f"h_{k}" for k in range(count)]
    return record.define("Hidden", dict.fromkeys(names, one), dict.fromkeys(names, 0.0))


def _behind(own: type, name: str, inner: type, default: Any) -> type:
    """The fields of a record, and one more behind them."""
    hints = get_type_hints(own, include_extras=True)
    if name in hints:
        raise InvalidValue(f"{own.__qualname__}.{name}: a network needs this name for itself")
    defaults = {} if default is None else {**own._field_defaults, name: default}
    docs = {leaf.name: leaf.doc for leaf in record.fields(own)}
    return record.define(own.__name__, {**hints, name: inner}, defaults, docs)
