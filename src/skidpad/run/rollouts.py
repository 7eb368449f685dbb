"""Rollouts of one plant, from what the caller gave to samples: checked, run, judged."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..arrays import AnyArray
from ..compile.cpu import Given, Late
from ..errors import InvalidValue
from . import batch
from . import delay as dead_time
from .engines import Engines
from .verdict import judge


class Rollouts:
    """Runs the plant of some engines.

    Args:
        engines: what to run.
        inputs: what the caller calls the inputs, for errors.
        mask: whether vehicles that diverge become NaN instead of raising.
    """

    def __init__(self, engines: Engines, inputs: str, *, mask: bool) -> None:
        self.engines, self.inputs, self.mask = engines, inputs, mask
        self.plant, self.space = engines.plant, engines.space

    def given(
        self, x0: Any, controls: Any, params: Any, disturbances: Any, layout: str = "aos"
    ) -> Given:
        """The arguments of a rollout, checked, as arrays (step, vehicle, field)."""
        plant, space = self.plant, self.space
        given = Given(
            x=batch.states(plant.State, x0, space, layout),
            u=batch.series(plant.Input, self.inputs, controls, space, layout),
            w=batch.series(plant.Disturbance, "disturbances", disturbances, space, layout),
            p=self.own_params if params is None else self._parameters(params),
        )
        series = {"x0": given.x, self.inputs: given.u, "disturbances": given.w}
        batch.batch_size(**series, params=given.p)
        return given

    @cached_property
    def own_params(self) -> AnyArray:
        """The plant's parameters where the rollouts run: checked and put there once."""
        return self._parameters(None)

    def _parameters(self, given: Any) -> AnyArray:
        return batch.parameters(self.plant.Params, self.plant.params, given, self.space)

    @cached_property
    def _own_delays(self) -> AnyArray:
        """Delays in steps with the plant's parameters, found once: a GPU need not be asked."""
        return dead_time.late_steps(self.engines.channels, self.own_params, self.engines.dt)

    def late(self, given: Given, pending: Any = None, layout: str = "aos") -> Late | None:
        """The queue of delayed commands that a rollout starts with; None if nothing is delayed."""
        channels = self.engines.channels
        if not channels:
            if pending is not None:
                raise no_dead_time(self.plant.name)
            return None
        own = given.p is self.own_params
        steps = (
            self._own_delays if own else dead_time.late_steps(channels, given.p, self.engines.dt)
        )
        late = dead_time.late(channels, steps, pending, self.space, layout)
        batch.batch_size(x0=given.x, controls=given.u, params=given.p, pending=late.pending)
        return late

    def samples(
        self,
        given: Given,
        steps: int,
        every: int,
        layout: str = "aos",
        late: Late | None = None,
    ) -> AnyArray:
        """Samples (sample, vehicle, field) of a rollout that went well, or masked.

        Without `late` the inputs act at once.
        """
        count = max(a.shape[1] for a in (*given, *(late or ())))
        out = batch.empty(steps // every + 1, count, given.x.shape[2], self.space, layout)
        out[0] = given.x[0]
        engine = self.engines.prompt if late is None else self.engines.rollout
        health = engine.run(given, out, every, late)
        judge(
            self.engines, given, out, every, health, inputs=self.inputs, mask=self.mask, late=late
        )
        return out


def no_dead_time(name: str) -> InvalidValue:
    """The error for a queue where nothing is delayed."""
    return InvalidValue(
        f"pending and return_pending are for models with dead time; {name!r} has none"
    )
