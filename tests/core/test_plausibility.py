"""Parameters in the wrong unit are warned of, once; whatever is built passes in silence."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import units as si
from skidpad.core.plausibility import implausible_parameters
from skidpad.errors import ImplausibleParameter
from skidpad.vehicles import wheeled
from skidpad.vehicles.twin_track.sets import SETS
from skidpad.vehicles.wheeled.description import KINDS, default_description
from skidpad.world.scene import WorldWarning

two_track = sp.vehicles.two_track
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"z_cg": 280}, r"z_cg = 280 m is implausible: .* did you mean 0\.28 m \(280 mm\)\?"),
        ({"z_cg": 55}, r"z_cg = 55 m .* did you mean 0\.55 m \(55 cm\)\?"),
        ({"z_cg": 5.5}, r"z_cg = 5\.5 m .* up to 4\.79 m"),
        ({"l_f": 1156}, r"l_f = 1156 m .* did you mean 1\.156 m \(1156 mm\)\?"),
        ({"track_f": 140}, r"track_f = 140 m .* did you mean 1\.4 m \(140 cm\)\?"),
        ({"steer_max": 30}, r"steer_max = 30 rad .* did you mean 0\.5236 rad \(30 degrees\)\?"),
        ({"m": 1.2}, r"m = 1\.2 kg .* did you mean 1200 kg \(1\.2 t\)\?"),
        ({"m": 1.2e6}, r"m = 1\.2e\+06 kg .* did you mean 1200 kg \(1\.2e\+06 g\)\?"),
        ({"m": 270}, r"m = 270 kg and I_z = 1538\.85 kg·m² .* at this mass"),
        ({"I_z": 1.5}, r"m = 1225\.89 kg and I_z = 1\.5 kg·m²"),
    ],
)
def test_a_wrong_unit_is_named_with_what_was_meant(values: dict[str, float], said: str) -> None:
    with pytest.warns(ImplausibleParameter, match=f"^two_track: {said}") as told:
        two_track(**values)
    assert len(told) == 1, "one mistake, one warning"
    assert told[0].filename == __file__


@pytest.mark.parametrize(("name", "m"), [("formula_student", 1226), ("four_wheel", 2400)])
def test_the_mass_of_a_heavy_car_with_the_inertia_of_a_light_one(name: str, m: float) -> None:
    with pytest.warns(ImplausibleParameter, match=rf"^{name}: m = {m} kg and I_z = .* at this"):
        sp.vehicles.get(name)(m=m)


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_each_vehicle_warns_once_under_its_own_name(name: str) -> None:
    make = sp.vehicles.get(name)
    # A suspended body that would tip over, or stand on no wheels, is refused outright.
    for field in ("steer_max",) if name == "full_car" else ("z_cg", "steer_max", "l_f"):
        if field in make.model.Params._fields:
            with pytest.warns(ImplausibleParameter, match=f"^{name}: {field} = 280 ") as told:
                make({field: 280})
            assert len(told) == 1


def test_it_is_told_once_and_can_be_filtered() -> None:
    with pytest.warns(ImplausibleParameter):
        car = two_track(steer_max=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        car.with_clipped_inputs()
        copy.deepcopy(car)
        pickle.loads(pickle.dumps(car))
        sp.with_disturbance(car)
        sp.Simulator(car, dt=0.01)
        sp.Fleet(car, dt=0.01)
        warnings.simplefilter("ignore", ImplausibleParameter)
        car.with_params(steer_max=31)
    with pytest.warns(ImplausibleParameter, match="31"):
        car.with_params(steer_max=31)


def silent(vehicle: Any) -> None:
    assert implausible_parameters(vehicle.model.body, vehicle.params) == []


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_listed_vehicles_are_plausible(name: str) -> None:
    silent(sp.vehicles.get(name)())


@pytest.mark.parametrize("name", SETS)
def test_sets_are_plausible(name: str) -> None:
    silent(two_track(name))
    silent(sp.vehicles.single_track(name))
    silent(sp.vehicles.full_car(name))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_sets_of_commonroad_are_plausible(number: int) -> None:
    for name in ("ks", "kst", "st", "std", "mb"):
        if (name == "kst") == (number == 4):
            silent(sp.vehicles.get(f"commonroad_{name}")(number))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "worlds").glob("*.world.xml")), ids=lambda path: path.name
)
def test_vehicles_of_example_worlds_are_plausible(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        world = sp.World.load(path)
    assert world.vehicles
    for vehicle in world.vehicles.values():
        silent(vehicle.vehicle)


@pytest.mark.parametrize("kind", KINDS)
def test_wheeled_robots_are_plausible(kind: str) -> None:
    silent(wheeled.vehicle(default_description(kind)))


@pytest.mark.parametrize("name", ["IDEAL_STEER_VEL", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"])
def test_vehicles_of_autoware_are_plausible(name: str) -> None:
    silent(sp.vehicles.get(name)())


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3, 1.0, 2.0, 4.0])
def test_robots_of_any_scale_are_plausible(scale: float) -> None:
    """Lengths as the scale, masses as its cube, inertia as its fifth power, also where the looks of
    the car stay as they are."""
    car = two_track()
    p = car.params
    values = {name: getattr(p, name) * scale for name in ("l_f", "l_r", "track_f", "track_r")}
    values |= {"z_cg": p.z_cg * scale, "m": p.m * scale**3, "I_z": p.I_z * scale**5}
    silent(two_track(**values))
    silent(two_track(**values, length=p.length * scale, width=p.width * scale))


@pytest.mark.parametrize("factor", [0.4, 0.5, 0.7, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("field", ["m", "I_z", "l_f", "l_r", "track_f", "z_cg", "steer_max"])
def test_sweeps_are_plausible(field: str, factor: float) -> None:
    for car in (two_track(), sp.vehicles.four_wheel(), sp.vehicles.commonroad_mb()):
        if field in car.params._fields and factor * getattr(car.params, field) < math.pi / 2.0:
            silent(car.with_params(**{field: factor * getattr(car.params, field)}))


def test_the_ground_is_not_measured_against_the_vehicle() -> None:
    grids = [sp.Road.grid(np.zeros((4, 4)), (0.0, 0.0), (500.0, 500.0)) for _ in range(60)]
    for road in (sp.Road.waves(amplitude=0.1, wavelength=80.0), *grids):
        silent(sp.vehicles.on_road(sp.vehicles.four_wheel(), road))


def test_a_huge_angle_is_no_limit() -> None:
    silent(sp.vehicles.four_wheel(steer_max=1e9))


class State(NamedTuple):
    """A state."""

    v: si.m_s = 0.0


class Input(NamedTuple):
    """An input."""

    a: si.m_s2 = 0.0


class Params(NamedTuple):
    """Parameters of a model without a body."""

    wheel_radius: si.m = 0.3
    lookahead: si.m = 40.0
    pressure: si.Pa = 220000.0
    toe_f: Annotated[float, si.Unit("rad")] = 0.0


def test_without_a_body_the_usual_value_decides() -> None:
    model = sp.Model("point", State, Input, Params, lambda x, u, w, p: State(u.a))

    def texts(**values: float) -> list[str]:
        return implausible_parameters(model.body, Params(**values))

    assert texts(wheel_radius=3.0, lookahead=1000.0, pressure=80000.0, toe_f=0.1) == []
    assert "did you mean 0.3 m (300 mm)" in texts(wheel_radius=300.0)[0]
    assert "did you mean 2.2e+05 Pa (2.2 bar)" in texts(pressure=2.2)[0]
    assert "did you mean 2.2e+05 Pa (220 kPa)" in texts(pressure=220.0)[0]
    assert "did you mean 2.206e+05 Pa (32 psi)" in texts(pressure=32.0)[0]
    assert "did you mean 0.02618 rad (1.5 degrees)" in texts(toe_f=1.5)[0]
