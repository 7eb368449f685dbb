"""A network as a policy: its inputs from the vehicle, and the vehicle's input from its outputs."""

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
"""Field of the policy's memory with the hidden state of the network."""
WEIGHTS = "network"
"""Field of the policy's parameters with the weights of a trainable network."""
ACT_ARGUMENTS = ("outputs", *ARGUMENTS)
"""Arguments that `act` may have."""


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
    """Policy that computes its input by a network.

    Args:
        network: the network.
        observe: a function of any of `x`, `m`, `r`, `p` and `dt` (see `Policy`) that returns the
            inputs of the network, a tuple.
        act: a function of `outputs`, a tuple of the network's outputs, and of any of these, that
            returns the vehicle's input; with a `Memory`, a pair of this and the next memory.
        Memory, Reference, Params, params: records of the policy besides the network, as in
            `Policy`. The hidden state of the network is appended to the memory (`hidden.h_0`).
        trainable: whether the weights are parameters of the policy, appended to the others
            (`network.layer_0.weight_1_0`), so that gradients are with respect to them and vehicles
            may have different weights; for up to about a thousand weights. If not, they are
            constants of the compiled code, which is faster.
        name: name of the policy.
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
    """Slice of a trainable policy's parameters that holds the weights."""
    law = policy.act
    if not isinstance(law, NetworkLaw) or not law.trainable:
        raise InvalidValue(f"policy {policy.name!r} has no network that is trainable")
    size = record.size(law.Params)
    return slice(size - law.network.weights.size, size)


@dataclass(frozen=True, eq=False)
class NetworkLaw(Constant):
    """Control law: observe, evaluate the network, act."""

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
            label = f"{part} of policy {self.name!r}"
            record.check_names(label, self._asked(part), allowed, "argument")
        if "outputs" not in self._asked("act"):
            raise InvalidValue(
                f"act of policy {self.name!r} must take `outputs`, the outputs of the network"
            )

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields(f"policy {self.name!r}", self, "pickle fleet.closed_loop(policy)")

    @property
    def Memory(self) -> type:
        hidden = self.network.hidden
        return memory_record(self.OwnMemory, hidden) if hidden else self.OwnMemory

    @property
    def Params(self) -> type:
        if not self.trainable:
            return self.OwnParams
        names = tuple(layer.weight_names for layer in self.network.layers)
        return params_record(self.OwnParams, names)

    @property
    def __signature__(self) -> inspect.Signature:
        """Signature with the arguments that a `Policy` has to pass."""
        asked = {*self._asked("observe"), *self._asked("act")}
        asked |= {"m"} if record.size(self.Memory) else set()
        asked |= {"p"} if self.trainable else set()
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature([inspect.Parameter(n, kind) for n in ARGUMENTS if n in asked])

    def __call__(self, **inputs: Any) -> Any:
        """Vehicle input computed by the network, with the next memory if the policy has one."""
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
                f"observe of policy {self.name!r} must return the {self.network.inputs} inputs "
                f"of the network, as a tuple; it returned {observation!r:.120}"
            )
        outputs, following = self.network.step(observation, tuple(hidden), weights)
        return self._with_memory(self._called("act", {**own, "outputs": outputs}), following)

    def _with_memory(self, answer: Any, hidden: tuple[Any, ...]) -> Any:
        """Result of `act`, with the hidden state of the network appended to its memory."""
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
    """Policy of a network, pickled as its `NetworkLaw` and parameters.

    Its record classes are created at run time, so they cannot be pickled by name.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self.act, record.flatten(self.params))


def _made_again(law: NetworkLaw, params: tuple[float, ...]) -> Policy:
    records = (law.Memory, law.Reference, law.Params)
    return _NetworkPolicy(law, *records, record.unflatten(law.Params, params), law.name)


@made_once
def memory_record(own: type, hidden: int) -> type:
    """Memory record with the hidden state of a network appended."""
    inner = _hidden_record(hidden)
    return _behind(own, HIDDEN, inner, inner())


@made_once
def params_record(own: type, names: tuple[tuple[str, ...], ...]) -> type:
    """Parameter record with the weights of a network appended; names by layer."""
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
    """Record with the fields of `own` followed by one more field."""
    hints = get_type_hints(own, include_extras=True)
    if name in hints:
        raise InvalidValue(f"{own.__qualname__}.{name}: this name is reserved for the network")
    defaults = {} if default is None else {**own._field_defaults, name: default}
    docs = {leaf.name: leaf.doc for leaf in record.fields(own)}
    return record.define(own.__name__, {**hints, name: inner}, defaults, docs)
