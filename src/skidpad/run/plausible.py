"""What a caller gives to many vehicles, looked at once before they run: can it be meant?

Angles far beyond the ends of their actuators, starts that no such vehicle can be in, parameters
whose modes are too fast for the steps.
"""

from __future__ import annotations

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile.cpu import RolloutArrays
from ..compile.plant import Plant
from ..units import s
from . import batch
from .commands import angle_ends, check_angles
from .stability import check_spread
from .start import check_start


class Plausible:
    """Looks at the arguments of one plant's rollouts; nothing is known of one that was loaded.

    Args:
        plant: of a vehicle alone.
        dt: step in s.
        substeps: within it.
        inputs: what the caller calls the inputs; None if they are not the vehicle's own.
    """

    def __init__(self, plant: Plant, dt: s, substeps: int, inputs: str | None) -> None:
        self.plant, self._dt, self._substeps, self._inputs = plant, dt, substeps, inputs
        self._angles = () if inputs is None else angle_ends(plant.vehicle)
        own = np.array(record.flatten(plant.params), dtype=float)
        self._known = (own, own)
        """Least and most of each parameter for which the steps are known to be short enough."""

    def driven(self) -> Plausible:
        """The same for closed loops, whose inputs are what a policy is told."""
        return Plausible(self.plant, self._dt, self._substeps, None)

    def check(self, arrays: RolloutArrays, *, own_params: bool) -> None:
        """Raise for what cannot be meant; behind the vehicle's own fields there may be others.

        `own_params` says that all vehicles have the parameters of the plant. Limits of others are
        not known, so their starts are taken as they are.
        """
        plant = self.plant
        if plant.vehicle is None:
            return
        if self._inputs is not None:
            check_angles(self._angles, self._inputs, arrays.u)
        if own_params:
            start = arrays.x[0][:, : record.size(plant.State)]
            check_start(plant.vehicle, start, " of vehicle {}")
        else:
            self._check_steps(arrays.p[0][:, : record.size(plant.Params)])

    def _check_steps(self, params: AnyArray) -> None:
        """Whether the steps are short enough for parameters (B, np)."""
        params = batch.on_host(params)
        low, high = params.min(axis=0), params.max(axis=0)
        known_low, known_high = self._known
        if (low < known_low).any() or (high > known_high).any():
            check_spread(self.plant, self._dt, self._substeps, params)
            self._known = (np.minimum(low, known_low), np.maximum(high, known_high))
