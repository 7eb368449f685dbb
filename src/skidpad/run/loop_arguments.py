"""What users hand to a fleet with a policy, as the arrays of the closed loop.

They give what belongs to the vehicle and what belongs to its policy apart; the closed loop has the
fields of the one behind those of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..compile.cpu import RolloutArrays
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..policy import Policy
from . import batch
from .batch import Space
from .start import settled


class LoopArguments(NamedTuple):
    """The arguments of a rollout with a policy, as the caller has them."""

    x0: Any
    references: Any
    params: Any
    disturbances: Any
    memory: Any
    policy_params: Any


def loop_arrays(
    plant: Plant, policy: Policy, arguments: LoopArguments, space: Space, layout: str
) -> RolloutArrays:
    """The arguments, checked, as arrays (step, vehicle, field); `plant` is the vehicle alone."""
    x0, references, params, disturbances, memory, policy_params = arguments
    u = batch.series(policy.Reference, "references", references, space, layout)
    w = batch.series(plant.Disturbance, "disturbances", disturbances, space, layout)
    p = batch.parameters(plant.Params, plant.params, params, space)
    x = batch.states(plant.State, settled(plant, x0, p, layout), space, layout)
    m = _memory(policy, memory, space, layout)
    try:
        own = batch.parameters(policy.Params, policy.params, policy_params, space)
    except InvalidValue as error:
        raise InvalidValue(f"policy_params: {error}") from error
    batch.batch_size(x0=x, memory=m, references=u, disturbances=w, params=p, policy_params=own)
    return RolloutArrays(_beside(x, m, space), u, w, _beside(p, own, space))


def _memory(policy: Policy, memory: Any, space: Space, layout: str) -> AnyArray:
    """What a policy remembers at the start, as (1, B or 1, n)."""
    if memory is None or isinstance(memory, (Mapping, policy.Memory)):
        return batch.series(policy.Memory, "memory", memory, space, layout)
    array = batch.numbers("memory", memory, space)
    array = np.swapaxes(array, -1, -2) if layout == "soa" and array.ndim > 1 else array
    return batch.rows(policy.Memory, "memory", array, space, array.shape[:-1])


def _beside(a: AnyArray, b: AnyArray, space: Space) -> AnyArray:
    """The fields of two arrays (1, vehicle or 1, field) in one."""
    if not b.shape[2]:
        return a
    count = max(a.shape[1], b.shape[1])
    wide = [np.broadcast_to(part, (1, count, part.shape[2])) for part in (a, b)]
    return space.xp.concatenate(wide, axis=2)
