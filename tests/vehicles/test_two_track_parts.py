"""`two_track` put together from parts: what it takes, what it refuses, and that it conforms."""

from __future__ import annotations

import pickle
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.vehicles import parts
from skidpad.vehicles.parts.air import Aerodynamics, aero_map
from skidpad.vehicles.parts.chassis import QuasiStatic, RollPitch, RollShare, Suspension
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip
from skidpad.vehicles.parts.steering import LinearAlignment, SteeringWheel, alignment_tables
from skidpad.vehicles.twin_track.records import PART_DUTIES

two_track = sp.vehicles.two_track
SPRUNG = Suspension(
    h_rc_f=0.05, h_rc_r=0.1, anti_dive=0.3, anti_lift_r=0.2, anti_squat=0.4, anti_lift_f=0.1
)
LINEAR = LinearAlignment(
    toe_by_travel_f=-0.1, camber_by_travel_f=-0.6, toe_by_F_y_f=-1e-6, toe_by_M_z_f=1e-5,
    camber_by_F_y_r=1e-6, toe_by_F_x_r=1e-6,
)  # fmt: skip
TABLES = alignment_tables(
    toe_f=((-0.1, 0.0, 0.1), (-1e3, 1e3), [[0.01, 0.0], [0.02, 0.03], [0.0, 0.01]]),
    camber_r=((-0.1, 0.1), (-1e3, 1e3), [[0.01, 0.0], [0.02, 0.0]]),
)
MAP = aero_map(
    (0.05, 0.1), (0.05, 0.1), [[1.0, 1.1], [1.2, 1.3]], [[2.0, 1.1], [1.2, 1.0]], [[1.0, 1.1]] * 2
)
CARS: dict[str, dict[str, Any]] = {
    "quasi-static": {"chassis": QuasiStatic(SPRUNG)},
    "moving": {"chassis": RollPitch(SPRUNG), "slip": FirstOrderSlip()},
    "compliant": {
        "chassis": RollPitch(SPRUNG),
        "alignment": LINEAR,
        "steering": SteeringWheel(),
    },
    "windy": {"air": Aerodynamics(c_y=1.0, c_z=1.0, x_y=0.3), "alignment": TABLES},
    "all": {
        "chassis": RollPitch(SPRUNG),
        "air": MAP,
        "alignment": TABLES,
        "steering": SteeringWheel(),
        "slip": FirstOrderSlip(),
    },
}


@pytest.mark.slow_cases("all", "compliant", "quasi-static", "windy")
@pytest.mark.parametrize("name", CARS)
def test_it_conforms(name: str) -> None:
    quick = [n for n in sp.testing.checks() if n not in ("driving", "standing", "purity")]
    sp.testing.check(two_track(**CARS[name]), quick).raise_if_failed()


@pytest.mark.slow
def test_all_of_it_drives_and_stands_in_worlds() -> None:
    sp.testing.check(two_track(**CARS["all"]), ["driving", "standing"]).raise_if_failed()


@pytest.mark.slow
def test_a_fleet_has_the_bits_of_a_simulator() -> None:
    car = two_track(**CARS["all"])
    fleet, sim = sp.Fleet(car, dt=0.002), sp.Simulator(car, dt=0.002)
    u = {"steer": 0.8, "tau_fl": 200.0, "tau_fr": 200.0, "brake_rl": 300.0}
    speeds = [0.0, 12.0, 31.0]
    assert car.model.settle is not None
    start = np.array(
        [record.flatten(car.model.settle(car.State(v_x=v), car.params)) for v in speeds]
    )
    states = fleet.rollout(start, u, steps=50)
    for k, v in enumerate(speeds):
        sim.reset(v_x=v)
        assert np.array_equal(sim.run(u, steps=50).states, states[:, k])


@pytest.mark.parametrize("name", CARS)
def test_it_travels_to_other_processes(name: str) -> None:
    car = two_track(**CARS[name])
    again = pickle.loads(pickle.dumps(car))
    assert again == car
    assert again.model is car.model
    assert two_track(**CARS[name]).model is car.model


def test_the_default_is_as_it_was() -> None:
    """Parts that are the default add no parameter, no state and no model."""
    assert two_track(chassis=RollShare()) == two_track()
    assert two_track().model is two_track.model
    assert not any("." in name for name in record.names(two_track().State))
    assert "roll_front" in record.names(type(two_track().params))
    parts = {name.partition(".")[0] for name in record.names(type(two_track().params))}
    assert not parts & {"chassis", "alignment", "steering", "air"}


def test_numbers_of_parts_are_parameters() -> None:
    car = two_track(chassis=RollPitch(), **{"chassis.suspension.k_f": 3e4}, z_cg=0.6)
    assert car.params.chassis.suspension.k_f == 3e4
    stiff = car.with_params(**{"chassis.suspension.bar_f": 2e4})
    assert stiff.model is car.model
    with pytest.raises(sp.InvalidValue, match=r"chassis\.suspension\.k_f = -1 N/m must be"):
        two_track(chassis=QuasiStatic(Suspension(k_f=-1.0)))
    with pytest.raises(sp.InvalidValue, match="m_u_f = 900 kg must be less than the"):
        two_track(chassis=QuasiStatic(Suspension(m_u_f=900.0)))
    with pytest.raises(sp.InvalidValue, match="m_u_r = 900 kg must be less than the"):
        two_track(chassis=RollPitch(Suspension(m_u_r=900.0)))


def test_a_part_takes_out_what_it_does_without() -> None:
    """A number that would do nothing is refused, by name."""
    with pytest.raises(sp.InvalidValue, match="no field 'roll_front'"):
        two_track(chassis=RollPitch(), roll_front=0.5)
    with pytest.raises(sp.InvalidValue, match="no field 'C_drag'"):
        two_track(air=Aerodynamics(), C_drag=0.5)


def test_parameters_of_another_car_keep_what_fits() -> None:
    plain = two_track(m=1111.0, roll_front=0.3)
    sprung = two_track(plain.params, chassis=RollPitch())
    assert sprung.params.m == 1111.0
    assert two_track(sprung.params) == sprung
    back = two_track(sprung.params, chassis=RollShare())
    assert (back.params.m, back.params.roll_front) == (1111.0, two_track().params.roll_front)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"chassis": 3.0}, "chassis must be a QuasiStatic"),
        ({"air": SteeringWheel()}, "air must be an Aerodynamics"),
        ({"alignment": "soft"}, "alignment must be a LinearAlignment"),
        ({"steering": RollPitch()}, "steering must be a SteeringWheel"),
        ({"slip": RollPitch}, "slip must be a SteadySlip"),
        ({"chassis": RollPitch(Suspension(m_u_f=2000.0))}, "m_u_f = 2000 kg"),
        (
            {"chassis": QuasiStatic(Suspension(k_f=1.0, k_r=1.0, bar_f=0.0))},
            "roll stiffness 1.9[0-9]* N·m/rad of k_f",
        ),
    ],
)
def test_what_is_no_part_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        two_track(**values)


def test_numbers_that_make_no_car_are_refused_wherever_they_are_given() -> None:
    """By the factory, by `with_params` and by `Vehicle` alike; and the car stays as it was."""
    car = two_track(chassis=RollPitch())
    for values, words in (
        ({"chassis.suspension.m_u_f": 2000.0}, "m_u_f = 2000 kg"),
        ({"m": 50.0}, "m = 50 kg"),
        ({"z_cg": 40.0}, "tips over"),
    ):
        with pytest.raises(sp.InvalidValue, match=words):
            car.with_params(**values)
        with pytest.raises(sp.InvalidValue, match=words):
            sp.Vehicle(car.model, record.build(car.model.Params, base=car.params, **values))
    assert car == two_track(chassis=RollPitch())
    assert pickle.loads(pickle.dumps(car)) == car


@pytest.mark.parametrize("duty", ["tilt_rate", "turns_by_pitch", "loss", "rates"])
def test_a_chassis_without_a_duty_of_its_contract_is_refused(duty: str) -> None:
    class Own(NamedTuple):
        suspension: Suspension = Suspension()

    for name, value in vars(RollPitch).items():
        if not name.startswith("__") and name not in (*RollPitch._fields, duty):
            setattr(Own, name, value)
    with pytest.raises(sp.InvalidValue, match="chassis must be a QuasiStatic"):
        two_track(chassis=Own())


def test_all_parts_that_messages_name_are_in_one_module() -> None:
    for allowed, _ in PART_DUTIES.values():
        named = re.findall(r"[A-Z]\w+|\w+_\w+", allowed)
        absent = {*named} - {*parts.__all__, "Road", "Trailers"}
        assert not absent, absent
    assert all(hasattr(parts, name) for name in parts.__all__)
