"""Simulation: nominal and perturbed motion of a vehicle under one input, and its measurement.

The interface of commonroad-control's simulation, for any vehicle; docs/simulation.md says what is
different.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ... import record
from ...arrays import Array
from ...brief import brief_repr, shortened
from ...checks import one_of
from ...errors import InvalidValue
from ...integrate.base import Integrator
from ...model import Vehicle
from ...random import seeds
from ...run.asked_run import check_room
from ...run.fleet import Fleet
from ...sensing.sensor_model import SensorModel
from ...sensing.state_outputs import FullStateFeedback
from ...sensing.uncertainty import UncertaintyModel, sampled
from ...trajectory.trajectory import Trajectory
from . import arguments
from .disturbed import disturbed
from .grid import Grid, grid, seconds
from .methods import Motion, motion, own_integrator, solver_class
from .results import Outcome, Result, Results
from .streams import Streams

if TYPE_CHECKING:
    from ...run.monte_carlo.result import MonteCarlo


_LONG = 1e6
"""Steps from which on it is asked whether there is room for them."""


class Setup(NamedTuple):
    """How a simulation runs in a fleet: `Fleet(vehicle, dt, integrator, substeps=substeps)`."""

    vehicle: Vehicle
    """With the disturbance that the disturbance model is about."""
    integrator: Integrator
    dt: float
    """Time over which a disturbance is constant, in s."""
    steps: int
    substeps: int
    """Steps of the integrator, or updates of a discrete vehicle, within dt."""

    __repr__ = brief_repr


class _Call(NamedTuple):
    """The arguments of `simulate`, checked."""

    x: tuple[float, ...]
    u: tuple[float, ...]
    t_final: float
    method: Any


class Simulation:
    """Simulates a vehicle under a constant input with disturbances and a noisy sensor.

    Args:
        vehicle_model: any vehicle, or its factory.
        sidt_factory: an object of commonroad-control's kind that makes states and trajectories; the
            results are skidpad's records and `Trajectory` if None.
        disturbance_model: of the vehicle's disturbance, or of one added to the derivative of its
            state; none if None.
        sensor_model: what is measured at the end; the whole state without noise if None.
        random_disturbance: draw disturbances; else the model's nominal value acts.
        random_noise: draw noise; else the nominal value of the noise is added.
        delta_t_w: longest time over which a disturbance is constant, in s.
        seed: names the random numbers, see `skidpad.random.seeds`; a fresh one if None.
        rtol, atol: for scipy's methods; their own if None, 1e-3 and 1e-6.
        substep: longest step of skidpad's own integrators, in s, 0.0025 if None. A discrete vehicle
            makes one update for each disturbance, or `Model.substeps` of them, if None; else
            updates no longer than this.
        compat: "upstream" for what commonroad-control does: a step too many where a ratio of times
            is rounded up, and the last state reached, without a word, where a solver fails.

    Give all but the vehicle by name: commonroad-control's documents and its program differ in their
    order.
    """

    def __init__(
        self,
        vehicle_model: Any,
        sidt_factory: Any = None,
        disturbance_model: UncertaintyModel | None = None,
        sensor_model: SensorModel | None = None,
        random_disturbance: bool = False,
        random_noise: bool = False,
        delta_t_w: float = 0.1,
        *,
        seed: int | None = None,
        rtol: Any = None,
        atol: Any = None,
        substep: float | None = None,
        compat: Literal["upstream"] | None = None,
    ) -> None:
        flags = {"random_disturbance": random_disturbance, "random_noise": random_noise}
        arguments.check_places(sidt_factory, disturbance_model, sensor_model, **flags)
        one_of("compat", compat, (None, "upstream"))
        vehicle = arguments.vehicle_of(vehicle_model)
        self._vehicle, self._disturbance = disturbed(vehicle, disturbance_model)
        self._sensor = FullStateFeedback(self._vehicle) if sensor_model is None else sensor_model
        arguments.check_sensor(self._sensor, self._vehicle)
        arguments.check_factory(sidt_factory, self._vehicle)
        self._upstream = compat == "upstream"
        self._random_disturbance = bool(random_disturbance) and disturbance_model is not None
        self._random_noise = bool(random_noise) and sensor_model is not None
        self._plain = sensor_model is None
        self._delta_t_w = seconds("delta_t_w", delta_t_w, zero=False)
        self._substep = None if substep is None else seconds("substep", substep, zero=False)
        self._options = arguments.tolerances(rtol, atol, record.size(self._vehicle.State))
        self._read_x0 = arguments.reader("x0", self._vehicle.State, complete=True)
        self._read_u = arguments.reader("u", self._vehicle.Input, complete=False)
        self._results = Results(self._vehicle, sidt_factory)
        self._motions: dict[Any, Motion] = {}
        self._last: tuple[_Call, Outcome | None] | None = None
        self.reset(seeds.fresh() if seed is None else seed)

    def __repr__(self) -> str:
        models = f"{type(self._disturbance).__name__}, {type(self._sensor).__name__}"
        return shortened(f"<Simulation of {self._vehicle!r}: {models}, seed {self._seed}>")

    @property
    def vehicle_model(self) -> Vehicle:
        """The vehicle, with the additive disturbance if it was given one here."""
        return self._vehicle

    @property
    def state_input_factory(self) -> Any:
        """The factory that makes the results; None if they are skidpad's own."""
        return self._results.factory

    @property
    def disturbance_model(self) -> UncertaintyModel:
        """The disturbance model; `NoUncertainty` if none was given."""
        return self._disturbance

    @property
    def random_disturbance(self) -> bool:
        """Whether disturbances are drawn; never without a disturbance model."""
        return self._random_disturbance

    @property
    def sensor_model(self) -> SensorModel:
        """The sensor model; `FullStateFeedback` without noise if none was given."""
        return self._sensor

    @property
    def random_noise(self) -> bool:
        """Whether noise is drawn; never without a sensor model."""
        return self._random_noise

    @property
    def delta_t_w(self) -> float:
        """Longest time over which a disturbance is constant, in s."""
        return self._delta_t_w

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return self._seed

    def reset(self, seed: int | None = None) -> None:
        """Draw from the start again: of this seed, or of another one from now on."""
        number = self._seed if seed is None else seeds.checked(seed)
        self._streams = Streams.of(number, self._disturbance)
        self._seed = number

    def simulate(self, x0: Any, u: Any, t_final: float, ivp_method: Any = "RK45") -> Result:
        """The motion from x0 under a constant input u for t_final seconds.

        Args:
            x0, u: records, mappings of names or arrays, or what has `convert_to_array`.
            t_final: time in s; with 0, x0 is measured and no disturbance drawn.
            ivp_method: a method of `scipy.integrate.solve_ivp` by name or class, or one of
                skidpad's own: "skidpad:rk4", "skidpad:radau", ...

        Returns:
            The measurement at the end, the perturbed trajectory and the nominal one: the same
            object where no disturbance differed from the nominal value.

        Solvers that fail raise `StepNotConverged` or `SimulationDiverged`; such a call, and one
        that is rejected, draws nothing: the next one finds the same random numbers.
        """
        call = self._checked(x0, u, t_final, ivp_method)
        outcome = self._run(call, self._streams)
        result = self._results.of(outcome, self._motions[call.method].name)
        self._streams, self._last = outcome.streams, (call, outcome)
        return result

    def replay(
        self,
        seed: int,
        x0: Any = None,
        u: Any = None,
        t_final: float | None = None,
        ivp_method: Any = None,
    ) -> Result:
        """What `simulate` gives as the first call after `reset(seed)`; this one's streams stay.

        Arguments that are not given are those of the last call.
        """
        if self._last is None and (x0 is None or u is None or t_final is None):
            raise InvalidValue("nothing was simulated yet: replay needs x0, u and t_final")
        before = None if self._last is None else self._last[0]
        if before is not None:
            x0 = record.unflatten(self._vehicle.State, before.x) if x0 is None else x0
            u = record.unflatten(self._vehicle.Input, before.u) if u is None else u
            t_final = before.t_final if t_final is None else t_final
            ivp_method = before.method if ivp_method is None else ivp_method
        call = self._checked(x0, u, t_final, "RK45" if ivp_method is None else ivp_method)
        outcome = self._run(call, Streams.of(seeds.checked(seed), self._disturbance))
        return self._results.of(outcome, self._motions[call.method].name)

    def setup(self, x0: Any, u: Any, t_final: float, ivp_method: Any = "skidpad:rk4") -> Setup:
        """What a fleet needs to run this simulation many times at once, with the same bits.

        The arguments are those of `simulate`, with an integrator of skidpad's own; `replay`
        remembers them as the last ones.
        """
        call = self._checked(x0, u, t_final, ivp_method)
        integrator = own_integrator(ivp_method)
        if integrator is None:
            raise InvalidValue(
                f"ivp_method = {solver_class(ivp_method)[1]!r} cannot be compiled, which a fleet "
                "needs; allowed are skidpad's own, such as 'skidpad:rk4'"
            )
        steps, dt = self._grid(call.t_final)
        moves: Any = self._motion(ivp_method)
        self._last = (call, None)
        return Setup(self._vehicle, integrator, dt, steps, moves.substeps(dt))

    def monte_carlo(
        self,
        x0: Any,
        u: Any,
        t_final: float,
        runs: int | Sequence[int],
        ivp_method: Any = "skidpad:rk4",
        *,
        on_diverge: str = "raise",
        **options: Any,
    ) -> MonteCarlo:
        """Many such simulations with disturbances drawn, in a fleet; see `Fleet.monte_carlo`.

        `replay(case.seed)` gives any one of them again with the same bits, nominal motion and
        measurement included. `options` are those of `Fleet.monte_carlo` that a simulation can
        repeat: seed, quantities, events, quantiles, confidence, progress. `on_diverge` is that of
        `Fleet`.
        """
        arguments.check_study(options, self._disturbance, self._random_disturbance)
        setup = self.setup(x0, u, t_final, ivp_method)
        fleet = Fleet(
            setup.vehicle,
            setup.dt,
            setup.integrator,
            substeps=setup.substeps,
            on_diverge=on_diverge,
        )
        call = self._checked(x0, u, t_final, ivp_method)
        return fleet.monte_carlo(
            np.array(call.x),
            np.array([call.u]),
            runs=runs,
            disturbance=self._disturbance if self._disturbance.dim else None,
            steps=setup.steps,
            **options,
        )

    @property
    def last_disturbances(self) -> Trajectory | None:
        """The disturbances of the last `simulate`, a trajectory in disturbance mode.

        None before the first, without a step, and for a vehicle that takes none.
        `Recorded(last_disturbances.to_array())` repeats them.
        """
        outcome = None if self._last is None else self._last[1]
        if outcome is None or not outcome.grid.steps or not self._disturbance.dim:
            return None
        steps, drawn = outcome.grid.steps, outcome.drawn
        rows = np.tile(self._disturbance.nominal_value, (steps, 1)) if drawn is None else drawn
        return Trajectory.from_arrays(
            outcome.grid.dt * np.arange(steps),
            disturbances=(self._vehicle.model.Disturbance, rows),
            name=self._vehicle.name,
            meta={"dt": outcome.grid.dt},
        )

    def _checked(self, x0: Any, u: Any, t_final: Any, method: Any) -> _Call:
        call = _Call(
            self._read_x0(x0), self._read_u(u), seconds("t_final", t_final, zero=True), method
        )
        if call.t_final > _LONG * self._delta_t_w:
            check_room(self._vehicle, self._grid(call.t_final).steps)
        self._motion(method)
        return call

    def _motion(self, method: Any) -> Motion:
        try:
            return self._motions[method]
        except KeyError:
            pass
        except TypeError:  # what cannot be a key is no method either
            solver_class(method)
        compiled = motion(
            method,
            self._vehicle,
            self._disturbance.nominal_value,
            substep=self._substep,
            options=self._options,
            frozen=self._upstream,
        )
        self._motions[method] = compiled
        return compiled

    def _grid(self, t_final: float) -> Grid:
        return grid(t_final, self._delta_t_w, raw=self._upstream)

    def _run(self, call: _Call, streams: Streams) -> Outcome:
        """Simulate and measure, reading on from these streams."""
        over = self._grid(call.t_final)
        moves = self._motions[call.method]
        if self._random_disturbance and over.steps:
            nominal, perturbed, drawn, streams = self._perturbed(call, moves, over, streams)
        else:
            nominal = perturbed = moves.alone(call.x, call.u, over)
            drawn = None
            if not self._plain:
                streams = streams._replace(time=streams.time + call.t_final)
        measurement, streams = self._measured(perturbed[-1], call, drawn, streams)
        return Outcome(nominal, perturbed, drawn, measurement, streams, over)

    def _perturbed(
        self, call: _Call, moves: Motion, over: Grid, streams: Streams
    ) -> tuple[Array, Array, Array, Streams]:
        """Both motions, the disturbances drawn and the streams after them."""
        nominal, perturbed = (np.empty((over.steps + 1, len(call.x))) for _ in range(2))
        nominal[0] = perturbed[0] = call.x
        drawn = np.empty((over.steps, self._disturbance.dim))
        memory = streams.memory
        for k in range(over.steps):
            draw = streams.disturbance_at(k, over.dt)
            rows, memory = sampled(self._disturbance, draw, memory, perturbed[k : k + 1])
            drawn[k] = rows[0]
            moves.pair(k, nominal, perturbed, call.u, drawn[k], over.dt)
        if (drawn == self._disturbance.nominal_value).all():
            perturbed = nominal
        after = streams._replace(
            memory=memory, step=streams.step + over.steps, time=streams.time + call.t_final
        )
        return nominal, perturbed, drawn, after

    def _measured(
        self, x: Array, call: _Call, drawn: Array | None, streams: Streams
    ) -> tuple[Any, Streams]:
        """What the sensor shows at the end, and the streams after it."""
        State = self._vehicle.State
        if self._plain:
            return record.unflatten(State, x.tolist()), streams
        sensor = self._sensor
        acting = self._disturbance.nominal_value if drawn is None else drawn[-1]
        seen, memory = sensor.measured(
            record.unflatten(sensor.State, x.tolist()),
            record.unflatten(sensor.Input, call.u),
            streams.noise_at(call.t_final),
            streams.noise_memory,
            self._random_noise,
            record.unflatten(self._vehicle.model.Disturbance, acting.tolist()),
        )
        if isinstance(sensor, FullStateFeedback):
            seen = record.unflatten(State, record.flatten(seen))
        if self._random_noise:
            streams = streams._replace(noise_memory=memory, measured=streams.measured + 1)
        return seen, streams
