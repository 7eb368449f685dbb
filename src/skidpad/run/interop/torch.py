"""Rollouts of a fleet on PyTorch tensors, as one differentiable operation.

Nothing is copied: tensors of the CPU are viewed as NumPy arrays, those of a GPU are passed by
DLPack. The backward pass is `Fleet.vjp`, the adjoint of the very steps that were simulated. It runs
the rollout again, so that the forward pass saves only its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ...core import record
from ...errors import InvalidValue, require

Tensor = Any
"""A `torch.Tensor`; PyTorch is optional, so its types are not imported."""
Fleet = Any
"""A `skidpad.Fleet`; its module imports this one."""
PARTS = ("x0", "controls", "params")
"""Arguments of a rollout that have derivatives."""


def as_torch(fleet: Fleet) -> Callable[..., Tensor]:
    """Return the rollout of a fleet as a differentiable function of PyTorch tensors.

    `rollout(x0, controls, params=None, every=1, steps=None, disturbances=None)` takes the arguments
    of `Fleet.rollout` as tensors in the fleet's precision and on its device, and returns the states
    (steps / every + 1, B, nx). Gradients are computed for `x0`, `controls` and `params`, which may
    also be a mapping of parameter names to tensors, () or (B,). Disturbances are constants. There
    are no second derivatives.
    """
    torch = require("torch", purpose="Fleet.as_torch")

    def rollout(
        x0: Tensor,
        controls: Tensor,
        params: Tensor | Mapping[str, Tensor] | None = None,
        every: int = 1,
        steps: int | None = None,
        disturbances: Any = None,
    ) -> Tensor:
        if isinstance(params, Mapping):
            params = _table(torch, fleet, params)
        tensors = {"x0": x0, "controls": controls, "params": params}
        for name, value in tensors.items():
            if value is not None or name != "params":
                _check(torch, fleet, name, value)
        if isinstance(disturbances, torch.Tensor):
            _check(torch, fleet, "disturbances", disturbances)
            if disturbances.requires_grad:
                raise InvalidValue(
                    "disturbances require gradients, but a fleet has none with respect to them; "
                    f"allowed are {', '.join(PARTS)}"
                )
            disturbances = _array(disturbances)
        options = {"every": every, "steps": steps, "disturbances": disturbances}
        return _function().apply(Call(fleet, options), x0, controls, params)

    return rollout


class Call(NamedTuple):
    """A fleet and the arguments of a rollout that are not tensors."""

    fleet: Fleet
    options: dict[str, Any]

    def samples(self, x0: Tensor, controls: Tensor, params: Tensor | None) -> Any:
        arrays = [_array(tensor) for tensor in (x0, controls, params)]
        return self.fleet.rollout(arrays[0], arrays[1], params=arrays[2], **self.options)

    def pulled_back(
        self,
        tensors: tuple[Tensor, Tensor, Tensor | None],
        cotangents: Tensor,
        wrt: tuple[str, ...],
    ) -> Any:
        """The derivatives of the sum of the states, weighted by `cotangents`."""
        x0, controls, params = (_array(tensor) for tensor in tensors)
        weights = _array(cotangents)
        return self.fleet.vjp(x0, controls, weights, params=params, wrt=wrt, **self.options)


@cache
def _function() -> Any:
    """The autograd function; PyTorch is imported on first use."""
    torch = require("torch", purpose="Fleet.as_torch")

    class FleetRollout(torch.autograd.Function):
        """Autograd function: the forward pass is a rollout, the backward pass its adjoint."""

        @staticmethod
        def forward(ctx: Any, call: Call, *tensors: Any) -> Tensor:
            ctx.call = call
            ctx.save_for_backward(*tensors)
            return torch.as_tensor(call.samples(*tensors))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *cotangents: Tensor) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            needed = ctx.needs_input_grad[1:]
            wrt = tuple(name for name, wanted in zip(PARTS, needed, strict=True) if wanted)
            parts = ctx.call.pulled_back(tensors, cotangents[0], wrt)
            shaped = (
                # A row shared by all vehicles has the sum of their derivatives.
                None if part is None else torch.as_tensor(part).sum_to_size(tensor.shape)
                for part, tensor in zip(parts, tensors, strict=True)
            )
            return None, *shaped

    return FleetRollout


def _array(tensor: Tensor | None) -> Any:
    """A tensor as an array of a fleet, not copied: NumPy on the CPU, itself on a GPU."""
    if tensor is None:
        return None
    bare = tensor.detach()
    return bare.numpy() if bare.device.type == "cpu" else bare


def _table(torch: Any, fleet: Fleet, params: Mapping[str, Tensor]) -> Tensor:
    """Parameters given by name as (B, np); the others have the vehicle's values."""
    kind = fleet.plant.Params
    names = record.names(kind)
    for name, value in params.items():
        if name not in names:
            raise InvalidValue(record.unknown_name("params", name, names))
        _check(torch, fleet, f"params[{name!r}]", value)
    kwargs = {"dtype": getattr(torch, fleet.precision), "device": fleet.device}
    columns = [
        params.get(name, torch.tensor(value, **kwargs))
        for name, value in zip(names, record.flatten(fleet.plant.params), strict=True)
    ]
    flat = torch.broadcast_tensors(torch.zeros(1, **kwargs), *columns)[1:]
    return torch.stack(flat, dim=-1)


def _check(torch: Any, fleet: Fleet, name: str, value: Any) -> None:
    """Raise unless the value is a tensor of the fleet's precision on its device."""
    if not isinstance(value, torch.Tensor):
        raise InvalidValue(f"{name} must be a torch.Tensor, got a {type(value).__qualname__}")
    if value.dtype != getattr(torch, fleet.precision):
        raise InvalidValue(
            f"{name} is {value.dtype} but the fleet computes in {fleet.precision}: convert it with "
            f"{name}.to(torch.{fleet.precision}), or make the fleet with another precision"
        )
    if value.device.type != fleet.device:
        raise InvalidValue(
            f"{name} is on {value.device} but the fleet runs on {fleet.device!r}: move it with "
            f"{name}.to({fleet.device!r}), or make the fleet with another device"
        )
