"""Property regions: who is in them on ground of any height, and values that make no sense."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.ground import Regions
from skidpad.world.scene import WorldError
from world.worlds import world

BOX = {"x_min": -9, "x_max": 9, "y_min": -9, "y_max": 9}


def region(
    name: str = "friction_mu",
    value: str = "<value_double>0.3</value_double>",
    z: tuple[float, float] | None = None,
    **box: float,
) -> str:
    limits = BOX | box | ({} if z is None else {"z_min": z[0], "z_max": z[1]})
    edges = "".join(f"<{edge}>{at}</{edge}>" for edge, at in limits.items())
    return (
        f"<element class='property_region'><property_name>{name}</property_name>{value}{edges}"
        "</element>"
    )


def plane(z: float) -> str:
    return f"<element class='horizontal_plane'><z>{z}</z></element>"


def robot(kind: str = "ackermann", z: float = 0.0, sensors: str = "", name: str = "r") -> str:
    return (
        f"<vehicle name='{name}'><init_pose3d>0 0 {z} 0 0 0</init_pose3d>"
        f"<dynamics class='{kind}'/>{sensors}</vehicle>"
    )


def felt(made: sp.World, field: str, vehicle: str = "r") -> list[float]:
    """What the ground does under each wheel."""
    made.step()
    handle = made.vehicles[vehicle]
    group = handle.bodies.group
    fields = group.model.Disturbance._fields
    row = group.disturbances[handle.row].tolist()
    return [v for n, v in zip(fields, row, strict=True) if n.startswith(f"{field}_")]


@pytest.mark.parametrize("kind", ["ackermann", "differential", "differential_3_wheels"])
@pytest.mark.parametrize(("name", "field"), [("friction_mu", "mu"), ("friction_C_rr", "rolling")])
def test_each_floor_has_its_own_friction(kind: str, name: str, field: str) -> None:
    floors = plane(0.0) + plane(3.0)
    upstairs = region(name, z=(2.5, 3.5))
    above = felt(sp.World(world(robot(kind, 3.0) + floors + upstairs)), field)
    below = felt(sp.World(world(robot(kind, 0.0) + floors + upstairs)), field)
    assert set(above) == {0.3}
    assert set(below) == {-1.0}
    # To upstream all wheels are at z = 0.
    for z, found in (((2.5, 3.5), -1.0), ((-1.0, 1.0), 0.3)):
        scene = world(robot(kind, 3.0) + floors + region(name, z=z), compat="upstream")
        assert set(felt(sp.World(scene), field)) == {found}


def test_on_a_ramp_each_wheel_is_as_high_as_its_ground() -> None:
    ramp = (
        "<block name='b'><intangible>true</intangible><init_pose>-4 0 0</init_pose>"
        "<geometry type='ramp' lx='8' ly='6' lz='0.8'/></block>"
    )
    # The rear wheels stand at z = 0.4 m and the front ones, 1.3 m ahead, at 0.53 m.
    made = sp.World(world(robot() + ramp + region(z=(0.45, 0.6))))
    assert felt(made, "mu") == [-1.0, -1.0, 0.3, 0.3]


@pytest.mark.parametrize("name", ["four_wheel"])
def test_a_car_has_the_mean_grip_of_its_wheels(name: str) -> None:
    """Its axles are 0.7853 m ahead and behind, its wheels 0.62 m aside."""
    left = region(value="<value_double>0.5</value_double>", y_min=0)
    for inside, share in ((left, 0.5), (left.replace("0</y_min", "-9</y_min"), 1.0), ("", 0.0)):
        made = sp.World(world(robot(f"skidpad:{name}") + inside))
        made.step()
        group = made.vehicles["r"].bodies.group
        own = made.vehicles["r"].built.vehicle.params.tyre.D
        scale = group.disturbances[0, group.model.Disturbance._fields.index("mu_scale")]
        assert scale == pytest.approx(share * 0.5 / own + (1.0 - share))


def test_of_regions_that_overlap_the_first_counts() -> None:
    scene = world(
        region("gps_no_coverage", "<value_bool>false</value_bool>", x_max=0)
        + region("gps_no_coverage", "<value_bool>true</value_bool>")
        + region(value="<value_double>0.1</value_double>", y_min=0)
        + region(value="<value_double>0.2</value_double>", z=(0.0, 1.0))
    )
    covered = Regions(scene, "gps_no_coverage")
    assert [covered.at(x, 0.0, 0.0) for x in (-1.0, 1.0, 99.0)] == [False, True, None]
    x = np.zeros(4)
    y, z = np.array([1.0, -1.0, -1.0, 99.0]), np.array([5.0, 1.0, 1.1, 0.0])
    found = Regions(scene, "friction_mu").numbers(x, y, z, outside=-1.0)
    assert found.tolist() == [0.1, 0.2, -1.0, -1.0]
    assert not Regions(scene, "friction_C_rr")


GNSS = (
    "<georeference><latitude>36.8</latitude><longitude>-2.4</longitude>"
    "<world_to_enu_rotation_deg>{turn}</world_to_enu_rotation_deg></georeference>"
)
RECEIVER = (
    "<sensor class='gnss' name='gps'><pose_3d>0 0 1 0 0 0</pose_3d>"
    "<horizontal_std_noise>0</horizontal_std_noise></sensor>"
)


def fix(inside: str, z: float = 0.0, turn: float = 0.0, **options: str) -> bool:
    """Whether a receiver 1 m above the ground has a fix after some time."""
    text = robot(z=z, sensors=RECEIVER) + GNSS.format(turn=turn) + inside
    made = sp.World(world(text, **options))
    made.run(0.2)
    return made.vehicles["r"].sensors["gps"] is not None


def test_satellites_are_hidden_on_one_floor_only() -> None:
    floors = plane(0.0) + plane(3.0)
    cellar = region("gps_no_coverage", "<value_bool>true</value_bool>", z=(0.0, 2.0))
    assert not fix(floors + cellar, z=0.0)
    assert fix(floors + cellar, z=3.0)
    # The antenna counts, which is 1 m higher.
    assert fix(floors + cellar.replace(">2.0<", ">0.9<"), z=0.0)
    open_air = region("gps_no_coverage", "<value_bool>false</value_bool>")
    assert fix(open_air + cellar)
    assert not fix(cellar + open_air)


def test_upstream_turns_the_place_before_it_looks_for_regions() -> None:
    beside = region(
        "gps_no_coverage", "<value_bool>true</value_bool>", x_min=4, x_max=6, y_min=-1, y_max=1
    )
    there = robot(sensors=RECEIVER).replace("3d>0 0 0", "3d>5 0 0")
    for compat, turn, seen in (
        (None, 90.0, False),
        ("upstream", 90.0, True),
        ("upstream", 0, False),
    ):
        made = sp.World(world(there + GNSS.format(turn=turn) + beside, compat=compat))
        made.run(0.2)
        assert (made.vehicles["r"].sensors["gps"] is not None) == seen


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("friction_mu", "<value_bool>true</value_bool>", "friction_mu = True must be a number"),
        ("friction_mu", "<value_string>ice</value_string>", "friction_mu = 'ice' must be a number"),
        ("friction_C_rr", "<value_double>-1</value_double>", "must be a number of 0 or more"),
        ("gps_no_coverage", "<value_double>1</value_double>", "must be true or false"),
        ("gps_no_coverage", "<value_string>no</value_string>", "must be true or false"),
    ],
)
def test_values_that_make_no_sense_are_refused_before_anything_runs(
    name: str, value: str, said: str
) -> None:
    with pytest.raises(WorldError, match=said) as caught:
        sp.World(world(robot() + region(name, value)))
    assert "<element>" in str(caught.value)
    assert "line" in str(caught.value)
