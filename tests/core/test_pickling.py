"""Vehicles, simulators, fleets and worlds, pickled and copied within a process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from compat.autoware.test_converter import recorded_parameters
from core.policy.drivers import FOLLOW, PASS_ON
from run.fleet.driving import inputs, starts
from skidpad.compile import pipeline

# What another process makes of a model is asked of this one: a process for each would take long.
from skidpad.compile.portable import portable, unpacked
from skidpad.core import record
from skidpad.core.body import Demand, Pose, Velocity
from skidpad.core.model import Model, Vehicle
from skidpad.errors import InvalidValue, SimulatorInUse, TraceError
from skidpad.vehicles import wheeled
from skidpad.world.xml import loads
from testing.cart import BODY, cart, geometry

BICYCLE = sp.vehicles.kinematic_bicycle(m=250.0)
BUS = sp.vehicles.autoware("DELAY_STEER_VEL", {"wheel_base": 3.0, "steer_time_delay": 0.1})
CAMERA = sp.vehicles.autoware(
    "ACTUATION_CMD_STEER_MAP", recorded_parameters("ACTUATION_CMD_STEER_MAP")
)


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def elsewhere(vehicle: Vehicle) -> Vehicle:
    """The vehicle as a process gets it that does not know its model."""
    _, (payload,) = portable(vehicle.model)
    model = unpacked(again(payload)._replace(mark=f"of another process, {id(payload)}"))
    return Vehicle(model, record.unflatten(model.Params, record.flatten(vehicle.params)))


def closures(model: Model) -> Model:
    """The model with all its functions inside of others."""

    def hidden(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
        functions = {name: getattr(owner, name) for name in names}
        return {n: lambda *a, f=f: f(*a) for n, f in functions.items() if f is not None}

    equations = ("derivative", "update", "outputs", "hold", "settle", "energy")
    moving = ("pose", "velocity", "placed", "command", "acceleration", "steer", "odometry", "speed")
    body = model.body and replace(model.body, **hidden(model.body, moving))
    return replace(model, body=body, **hidden(model, equations))


LISTED: list[Vehicle] = [
    *(sp.vehicles.get(name)() for name in sp.vehicles.names()),
    sp.vehicles.commonroad_st(3, compat="upstream", m=1500.0),
    sp.vehicles.commonroad_mb(compat="upstream"),
    sp.with_disturbance(sp.vehicles.four_wheel(m=240.0)),
    BUS,
    sp.vehicles.autoware("DELAY_STEER_VEL", {"wheel_base": 3.0}, compat="upstream"),
    CAMERA,
    wheeled.vehicle(wheeled.ackermann(), compat="upstream"),
    wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_ideal"))),
]


@pytest.mark.parametrize("vehicle", LISTED, ids=lambda v: f"{v.name} {v.model.reproduces[:6]}")
def test_skidpads_own_vehicles_come_back_with_their_model(vehicle: Vehicle) -> None:
    text = pickle.dumps(vehicle)
    assert len(text) < 1000 + 9 * record.size(vehicle.model.Params)
    assert pickle.loads(text).model is vehicle.model
    assert pickle.loads(text) == vehicle


def test_copies_of_a_vehicle_are_the_vehicle() -> None:
    for value in (BICYCLE, BICYCLE.model, cart(lambda x, u, w, p: x), FOLLOW, PASS_ON):
        assert copy.copy(value) is value
        assert copy.deepcopy(value) is value


@pytest.mark.slow_cases(
    "brains2",
    "commonroad_kinematic_bicycle",
    "commonroad_ks",
    "commonroad_kst",
    "commonroad_st",
    "four_wheel",
    "single_track",
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow) if n in ("formula_student", "commonroad_mb") else n
        for n in sp.vehicles.names()
    ],
)
def test_closures_have_the_same_programs_elsewhere(name: str) -> None:
    """Equal Programs are equal bits, whatever runs them."""
    model = closures(sp.vehicles.get(name).model)
    vehicle = sp.VehicleFactory(model)()
    there = elsewhere(vehicle)
    assert there.model is not model
    integrators = ("euler", "radau2") if "mb" not in name and model.continuous else ("rk4",)
    for integrator in integrators:
        ours, theirs = (pipeline.step_program(m, integrator) for m in (model, there.model))
        assert ours.digest == theirs.digest
    ours, theirs = (pipeline.outputs_program(m) for m in (model, there.model))
    assert ours.digest == theirs.digest
    assert again(vehicle).model is model


class _Skids(NamedTuple):
    """What is held over a step."""

    F: float


def local_cart() -> Vehicle:
    """A cart whose records and functions are nowhere to be imported from."""

    class State(NamedTuple):
        x: sp.units.m = 0.0
        """Where it is."""
        v: sp.units.m_s = 0.0

    class Input(NamedTuple):
        F: sp.units.N = 0.0

    class Wheel(NamedTuple):
        d: sp.units.N_s_m = 0.3

        def drag(self, v: Any) -> Any:
            return self.d * v

    hints = {"m": sp.units.kg, "wheel": Wheel, "delay": sp.units.s}
    Params = record.define("Params", hints, {"m": 2.0, "wheel": Wheel(), "delay": 0.03})

    slope = 3.0

    def derivative(x: Any, u: Any, w: Any, p: Any) -> State:
        return State(x.v, (u.F - p.wheel.drag(x.v) - slope) / p.m)

    model = Model(
        name="local_cart",
        State=State,
        Input=Input,
        Params=Params,
        derivative=derivative,
        hold=lambda x, u, w, p: _Skids(sp.ops.where(x.v > 1.0, 0.0, u.F)),
        settle=lambda x, p: x._replace(v=sp.ops.maximum(x.v, 0.0)),
        energy=lambda x, p: 0.5 * p.m * x.v * x.v,
        dead_times={"F": "delay"},
        mirror_odd={"x": False},
    )
    return sp.VehicleFactory(model)(m=3.0, **{"wheel.d": 0.5})


def test_records_and_functions_of_closures_are_there() -> None:
    here = local_cart()
    there = elsewhere(here)
    for kind in ("State", "Input", "Params"):
        ours, theirs = (record.fields(getattr(v.model, kind)) for v in (here, there))
        assert ours == theirs
    assert tuple(there.params) == tuple(here.params)
    assert there.model.mirror_odd == {"x": False}
    for v in (0.5, 2.0, np.array([0.5, 2.0]), ca.SX.sym("v")):
        rates = [a.derivative(a.State(1.0, v), a.Input(4.0)) for a in (here, there)]
        assert [str(r) for r in rates[0]] == [str(r) for r in rates[1]]
    assert there.model.energy is not None
    assert there.model.energy(there.State(v=2.0), there.params) == 6.0
    assert there.with_params({"wheel.d": 1.0}).params.wheel.d == 1.0


def test_records_of_a_vehicle_that_was_pickled_can_be_pickled() -> None:
    here, other = local_cart(), local_cart()
    pickle.dumps([here, other])
    for vehicle in (here, other, BUS):
        for state in (vehicle.State(1.0, 2.0), vehicle.State(1.0, np.array([1.0, 2.0]))):
            for same in (again(state), copy.copy(state), copy.deepcopy(state)):
                assert type(same) is type(state)
                assert str(same) == str(state)


def test_names_of_records_in_types_do_no_harm() -> None:
    vehicle = local_cart()
    kinds = tuple(getattr(vehicle.model, k) for k in ("State", "Input", "Params", "Outputs"))
    simulator: Any = sp.Simulator.__class_getitem__((*kinds, tuple))(vehicle, 0.01)
    fleet: Any = sp.Fleet.__class_getitem__((*kinds, tuple))(vehicle, 0.01)
    assert simulator.__orig_class__
    assert again(simulator).step(F=1.0) == simulator.step(F=1.0)
    assert again(fleet).vehicle == vehicle


def test_a_body_comes_along_but_for_what_only_a_closure_knows() -> None:
    importable = sp.VehicleFactory(closures(cart(body=BODY).model))()
    here = replace(
        importable,
        model=replace(
            importable.model, body=replace(importable.model.body, geometry=lambda p: geometry(p))
        ),
    )
    for vehicle in (importable, here):
        there, state = elsewhere(vehicle), vehicle.State(1.0, 2.0, 0.3, 5.0, 0.2, 0.1, 0.05)
        p, u = vehicle.params, vehicle.Input()
        assert there.body.pose(state, p) == vehicle.body.pose(state, p)
        assert type(there.body.pose(state, p)) is Pose
        assert there.body.velocity(state, u, p) == vehicle.body.velocity(state, u, p)
        moved = state, Pose(0.0, 0.0, 1.0), Velocity(1.0, 0.0, 0.0), p
        assert there.body.placed(*moved) == vehicle.body.placed(*moved)
        demand = state, Demand(steer=0.1, a=1.0), p
        assert there.body.command(*demand) == vehicle.body.command(*demand)
        assert there.limits == vehicle.limits
    assert elsewhere(importable).geometry == importable.geometry
    with pytest.raises(InvalidValue, match="geometry of 'cart' was not transferred"):
        _ = elsewhere(here).geometry


def test_what_cannot_be_traced_is_said() -> None:
    broken = cart(lambda x, u, w, p: x if x.v_x > 0.0 else x._replace(v_x=0.0))
    with pytest.raises(TraceError, match="branches in Python"):
        pickle.dumps(broken)


SIMULATORS: dict[str, Callable[[], sp.Simulator]] = {
    "listed": lambda: sp.Simulator(BICYCLE, 1e-3),
    "closure with dead time": lambda: sp.Simulator(local_cart(), 0.01),
    "dead time": lambda: sp.Simulator(BUS, 0.02),
    "implicit": lambda: sp.Simulator(BICYCLE, 0.01, "radau2", iterations=4),
    "scipy": lambda: sp.Simulator(BICYCLE, 0.01, "scipy:RK45", rtol=1e-7),
    "float32, sub-steps": lambda: sp.Simulator(BICYCLE, 1e-3, precision="float32", substeps=3),
}


@pytest.mark.slow_cases("copy-scipy", "deepcopy-scipy")
@pytest.mark.parametrize("name", SIMULATORS)
@pytest.mark.parametrize("copied", [again, copy.copy, copy.deepcopy])
def test_a_simulator_goes_on_as_the_first(name: str, copied: Callable[[Any], Any]) -> None:
    first = SIMULATORS[name]()
    size = record.size(first.vehicle.Input)
    first.reset(time=3.0)
    rows = np.random.default_rng(0).uniform(0.0, 0.2, (40, size))
    for row in rows[:13]:
        first.step(row)
    first.step(rows[0], dt=first.dt / 2)
    before = first.snapshot()
    second = copied(first)
    assert (second.time, second.state, second.input) == (first.time, first.state, first.input)
    assert second.outputs() == first.outputs()
    ours = [first.step(row) for row in rows]
    assert [second.step(row) for row in rows] == ours
    assert second.time == first.time
    second.restore(before)
    assert [second.step(row) for row in rows] == ours


def test_a_simulator_keeps_its_disturbance_and_its_own_attributes() -> None:
    class Named(sp.Simulator):
        """A user's own."""

    first = Named(sp.vehicles.four_wheel(), 1e-3)
    first.label = "mine"  # pyright: ignore[reportAttributeAccessIssue]
    first.disturb(F_y=100.0)
    second = copy.copy(first)
    assert second.disturbance.F_y == 100.0
    assert second.label == "mine"
    assert second.step() == first.step()


def test_a_simulator_is_not_pickled_while_another_thread_runs_it() -> None:
    from run.simulator.test_threads import raised_elsewhere

    errors: list[BaseException | None] = []
    sim = sp.Simulator(BICYCLE, 1e-3)

    def controller(t: float, x: Any) -> Any:
        errors.append(raised_elsewhere(lambda: pickle.dumps(sim)))
        errors.append(raised_elsewhere(lambda: copy.copy(sim)))
        return {}

    sim.run(controller, steps=1)
    assert [type(error) for error in errors] == [SimulatorInUse] * 2


SETTINGS: dict[str, Any] = {
    "precision": "float32",
    "threads": 1,
    "on_diverge": "mask",
    "lanes": 4,
    "substeps": 2,
}


def test_a_fleet_keeps_its_settings_and_bits() -> None:
    first = sp.Fleet(BICYCLE, 2e-3, "heun", **SETTINGS)
    x0, u = starts(BICYCLE, 5), inputs(BICYCLE, 20, 5)
    wanted = first.rollout(x0, u)
    for second in (again(first), copy.copy(first), copy.deepcopy(first)):
        assert second.vehicle == first.vehicle
        for name in ("dt", "device", "threads", "lanes", "substeps", "precision", "on_diverge"):
            assert getattr(second, name) == getattr(first, name)
        assert second.rollout(x0, u).tobytes() == wanted.tobytes()


def test_a_closed_loop_is_pickled() -> None:
    first = sp.Fleet(BICYCLE, 2e-3, "heun").closed_loop(PASS_ON)
    second = again(first)
    assert second.plant.Input is first.plant.Input
    x0, u = starts(BICYCLE, 5), inputs(BICYCLE, 20, 5)
    assert second.rollout(x0, u).tobytes() == first.rollout(x0, u).tobytes()
    assert second.outputs(x0, u[0]).tobytes() == first.outputs(x0, u[0]).tobytes()
    with pytest.raises(InvalidValue, match="is a closed loop"):
        _ = second.vehicle


def test_a_loaded_fleet_is_pickled_with_its_cost(tmp_path: Path) -> None:
    cost = sp.Cost(stage=lambda x, u: x.y * x.y, terminal=lambda x: x.v_x)
    sp.Fleet(BICYCLE, 2e-3, "heun").save(tmp_path / "saved", cost=cost)
    first = sp.Fleet.load(tmp_path / "saved")
    second = again(first)
    x0, u = starts(BICYCLE, 3), inputs(BICYCLE, 8, 3)
    (value, gradient), (same, there) = (fleet.gradient(x0, u) for fleet in (first, second))
    assert same.tobytes() == value.tobytes()
    assert there.controls.tobytes() == gradient.controls.tobytes()


def test_costs_and_policies_are_pickled_or_say_why_not() -> None:
    assert again(FOLLOW) == FOLLOW
    with pytest.raises(TypeError, match=r"policy 'pass_on' .* its act .*closed_loop"):
        pickle.dumps(PASS_ON)
    with pytest.raises(TypeError, match=r"a cost .* its stage .*Fleet.save"):
        pickle.dumps(sp.Cost(stage=lambda x, u: x.y))


def test_an_uncertainty_model_is_pickled() -> None:
    first = sp.random.Gaussian(mean=[0.0, 1.0], std=[1.0, 2.0])
    second = again(first)
    for model in (first, second):
        model.reset(3)
    assert (first.sample_uncertainty() == second.sample_uncertainty()).all()


@pytest.mark.parametrize("copied", [again, copy.copy, copy.deepcopy])
def test_a_world_goes_on_as_the_first(copied: Callable[[Any], Any]) -> None:
    first = sp.World(
        loads("""<mvsim_world>
        <vehicle name="a"><init_pose>0 0 0</init_pose><dynamics class="skidpad:four_wheel"/>
          <sensor class="laser" name="scan"><nrays>5</nrays><max_range>20</max_range></sensor>
        </vehicle>
        <vehicle name="b"><init_pose>9 0 0</init_pose><dynamics class="differential"/></vehicle>
        </mvsim_world>"""),
        seed=4,
    )
    first.vehicles["a"].drive(sp.Demand(a=2.0))
    first.run(0.1)
    second = copied(first)
    assert second.time == first.time
    for _ in range(30):
        first.step()
        second.step()
    assert second.motion().tobytes() == first.motion().tobytes()
    scans = [world.readings("a")["scan"].ranges.tobytes() for world in (first, second)]
    assert scans[0] == scans[1]


def test_a_vehicle_conforms_elsewhere() -> None:
    """In loops, in fleets, as a body in worlds, with sensors."""
    truck = sp.VehicleFactory(closures(sp.vehicles.ackermann_truck.model))()
    sp.testing.check(elsewhere(truck)).raise_if_failed()
