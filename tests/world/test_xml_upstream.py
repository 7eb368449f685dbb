"""The reader beside upstream: its recorded worlds, its errors on request, its files' habits."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from skidpad.control.pid import Form, Gains
from skidpad.vehicles import wheeled
from skidpad.vehicles.wheeled.description import Description
from skidpad.world.xml import load, loads
from world.worlds import BOT, DATA, refused, vehicle, world

REFERENCE = DATA / "mvsim"
PROBES = json.loads((REFERENCE / "probes.json").read_text())


def recorded(name: str) -> list[dict[str, Any]]:
    return json.loads((REFERENCE / name).read_text())


SCENARIOS = recorded("scenarios.json")
SCENES = recorded("scenes.json")


@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("case", [*SCENARIOS, *SCENES], ids=lambda case: case["name"])
def test_recorded_worlds_load_without_a_word(case: dict[str, Any], compat: str | None) -> None:
    # A warning would be an error here.
    scene = loads(case["world_xml"], compat=compat)
    assert scene.timestep == case.get("dt", 0.005)
    assert scene.vehicles or scene.blocks
    for spec in scene.vehicles:
        assert isinstance(spec.dynamics, Description)
        wheeled.vehicle(spec.dynamics, compat=compat)


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["name"])
def test_masses_and_damping_are_those_upstream_recorded(case: dict[str, Any]) -> None:
    (spec,) = loads(case["world_xml"], compat="upstream").vehicles
    body = wheeled.vehicle(spec.dynamics, compat="upstream").params.body
    wheels = spec.dynamics.wheels
    total = body.chassis_mass + sum(wheel.mass for wheel in wheels)
    assert total == case["body_mass"]
    com_2 = body.com_x**2 + body.com_y**2
    # Recorded in single precision.
    assert body.I_z + total * com_2 == pytest.approx(case["body_inertia_about_origin"], rel=1e-6)
    assert body.com_x == pytest.approx(case["local_center"][0], rel=1e-6)
    damping = (body.linear_damping, body.angular_damping)
    recorded_damping = (case["linear_damping"], case["angular_damping"])
    assert damping == pytest.approx(recorded_damping, rel=1e-6)
    assert [wheel.spin_inertia for wheel in wheels] == pytest.approx(case["Iyy"], rel=1e-12)


def test_probe_chassis_damping() -> None:
    asked = PROBES["linear_damping_requested"]
    inside = f"<dynamics class='differential'><chassis linear_damping='{asked}'/></dynamics>"
    spec = vehicle(inside, compat="upstream")
    body = wheeled.vehicle(spec.dynamics, compat="upstream").params.body
    assert body.linear_damping == PROBES["effective_linear"]
    assert body.angular_damping == PROBES["effective_angular"]
    right = wheeled.vehicle(vehicle(inside).dynamics).params.body
    assert (right.linear_damping, right.angular_damping) == (asked, 0.1)


def test_probe_odometry_factors_have_no_effect_upstream() -> None:
    asked = PROBES["odometry_multiplier_requested"]
    assert asked not in PROBES["odometry_multiplier_effective"]
    inside = f"{BOT}<odometry x_multiplier='{asked}' yaw_multiplier='{asked}'/>"
    spec = vehicle(inside, compat="upstream")
    assert spec.odometry.x_multiplier is None
    right = vehicle(inside).odometry
    assert (right.x_multiplier, right.y_multiplier, right.yaw_multiplier) == (asked, None, asked)


def test_probe_names_in_loops() -> None:
    assert PROBES["for_vehicle_named"] == "EXCEPTION"
    robots = (
        "<for var='i' from='1' to='3'><vehicle name='r${i}'><init_pose>0 0 0</init_pose>"
        f"{BOT}</vehicle></for>"
    )
    assert "upstream does not replace variables in names" in refused(robots, compat="upstream")
    assert [v.name for v in world(robots).vehicles] == ["r1", "r2", "r3"]
    posts = (
        "<for var='i' from='1' to='3'><block name='b${i}'>"
        "<init_pose>$f{1.5*i} 0 0</init_pose></block></for>"
    )
    found = world(posts, compat="upstream").blocks
    # Upstream keeps them all under one name; here each has its own.
    assert len({b.name for b in found}) == 3
    shown = "".join(f"{b.name.partition('_')[0]}@{b.pose.x:.3f};" for b in found)
    assert shown == PROBES["for_block_named"]
    assert [b.name for b in world(posts).blocks] == ["b1", "b2", "b3"]


def test_probe_expressions_keep_six_digits_upstream() -> None:
    inside = (
        "<if condition='$f{1 &lt; 2}'><block name='yes'>"
        "<init_pose>$f{1/3} 0 0</init_pose></block></if>"
    )
    (upstream,) = world(inside, compat="upstream").blocks
    assert f"{upstream.name}@{upstream.pose.x:.3f};" == PROBES["if_expr"]
    assert upstream.pose.x == 0.333333
    (right,) = world(inside).blocks
    assert right.pose.x == 1.0 / 3.0


def test_probe_block_class_override() -> None:
    mass = float(PROBES["block_class_override_mass"])
    inside = (
        f"<block:class name='c'><mass>{mass}</mass></block:class>"
        "<block class='c'><init_pose>0 0 0</init_pose><mass>5</mass></block>"
    )
    assert world(inside, compat="upstream").blocks[0].mass == mass
    assert world(inside).blocks[0].mass == 5.0


def test_initial_velocities_are_along_the_world_upstream() -> None:
    inside = f"<init_vel>1 0 90</init_vel>{BOT}"
    assert vehicle(inside).velocity.frame == "body"
    upstream = vehicle(inside, compat="upstream").velocity
    assert (upstream.frame, upstream.omega) == ("world", math.pi / 2.0)


def test_children_do_for_attributes_except_upstream() -> None:
    inside = (
        "<dynamics class='differential'><chassis><mass>7</mass>"
        "<linear_damping>2</linear_damping></chassis>"
        "<l_wheel><mass>3</mass></l_wheel></dynamics>"
    )
    right = vehicle(inside).dynamics
    assert (right.chassis.mass, right.chassis.linear_damping, right.wheels[0].mass) == (7, 2, 3)
    upstream = vehicle(inside, compat="upstream").dynamics
    assert (upstream.chassis.mass, upstream.chassis.linear_damping) == (15.0, None)
    assert upstream.wheels[0].mass == 2.0


def test_upstream_scales_no_walls_and_wants_four_points() -> None:
    inside = "<walls><scale>3</scale><shape>{}</shape></walls>"
    pair, more = "<pt>0 0</pt><pt>1 0</pt>", "<pt>1 0</pt><pt>1 1</pt>"
    assert world(inside.format(pair)).walls[0].end == (3.0, 0.0)
    assert "4 points or more" in refused(inside.format(pair), compat="upstream")
    assert world(inside.format(pair + more), compat="upstream").walls[0].end == (1.0, 0.0)


def test_upstream_keeps_the_default_for_an_unknown_drivetrain() -> None:
    inside = "<dynamics class='ackermann_drivetrain'><drivetrain type='magic'/></dynamics>"
    spec = vehicle(inside, compat="upstream")
    assert spec.dynamics.drivetrain.kind == "torsen_4wd"


def test_upstream_hands_four_numbers_to_the_steering_controller() -> None:
    inside = (
        "<dynamics class='ackermann'><controller class='front_steer_pid'><KP>5</KP><N>3</N>"
        "<enable_antiwindup>true</enable_antiwindup></controller></dynamics>"
    )
    right = vehicle(inside).dynamics.control
    assert right.form.anti_windup
    assert right.form.filtered_derivative
    upstream = vehicle(inside, compat="upstream").dynamics.control
    assert upstream.form == Form()
    assert (upstream.gains.KP, upstream.gains.N) == (5.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "controller", "gains"),
    [
        ("differential", "twist_pid", Gains(KP=10.0, max_torque=100.0)),
        ("ackermann", "twist_front_steer_pid", Gains(KP=100.0, max_torque=100.0)),
        ("ackermann", "front_steer_pid", Gains(KP=100.0, max_torque=100.0)),
        ("ackermann_drivetrain", "twist_front_steer_pid", Gains(100.0, max_torque=400.0)),
    ],
)
def test_default_gains(kind: str, controller: str, gains: Gains) -> None:
    inside = f"<dynamics class='{kind}'><controller class='{controller}'/></dynamics>"
    assert vehicle(inside).dynamics.control.gains == gains


def test_the_habits_of_upstreams_files(tmp_path: Path) -> None:
    """Everything below is in worlds that upstream ships, and a strict reader stumbles over it."""
    (tmp_path / "farm.vehicle.xml").write_text(
        """<!-- A class with a wheel on the wrong side. -->
        <vehicle:class name="farm">
          <dynamics class="ackermann_drivetrain">
            <rl_wheel pos="0 -0.20 -0.245" mass="5.35" width="0.164" diameter="0.406">
              <visual> <model_uri>https://x.example/wheel.dae</model_uri> </visual>
            </rl_wheel>
            <rr_wheel pos="0  0.20 -0.245" mass="5.35" width="0.164" diameter="0.406"/>
            <f_wheels_x>0.62</f_wheels_x> <f_wheels_d>$f{2*0.20}</f_wheels_d>
            <chassis mass="97.0" zmin="0" zmax="1.20"> <shape_from_visual/> </chassis>
            <controller class="twist_front_steer_pid"> <KP>100</KP> <I_MAX>10</I_MAX> </controller>
          </dynamics>
          <visual>
            <model_uri>https://x.example/mast.dae</model_uri>
            <model_offset_x>-0.245</model_offset_z>
            <model_offset_y>0.01</model_offset_y>
          </visual>
          <odometry x_multiplier="$f{1.0+0.02*randn()}" y_multiplier="$f{1.0+0.01*randn()}"/>
        </vehicle:class>
        """
    )
    (tmp_path / "spinning.sensor.xml").write_text(
        """<sensor class="lidar3d" name="${sensor_name|lidar1}">
          <pose_3d> ${sensor_x|0.5}  ${sensor_y|0.0}  ${sensor_z|0.7}  0 0 0</pose_3d>
          <sensor_period>$f{60.0/${sensor_rpm|600}}</sensor_period>
          <horz_nrays>$f{(60.0/${sensor_rpm|600})/55.296e-6}</horz_nrays>
        </sensor>"""
    )
    text = """<mvsim_world version="1.0">
      <simul_timestep>0</simul_timestep>
      <save_to_rawlog>$env{MVSIM_SAVE_RAWLOG_FILENAME|}</save_to_rawlog>
      <gui> <ortho>false</ortho> <cam_point_to>1.5 13</cam_point_to> </gui>
      <lights> <point_light> <position>3 2 2</position> </point_light> </lights>
      <variable name="SIZE" value="10.0"></variable>
      <variable name="dummy" value="$f{randomize(2)}"></variable>
      <element class='horizontal_plane'>
        <cull_face>BACK</cull_face> <x_min>-$f{0.5*SIZE}</x_min>
      </element>
      <include file="farm.vehicle.xml" />
      <vehicle name="r1" class="farm">
        <init_pose> +0.09 0 0 </init_pose>
        <include file="spinning.sensor.xml" sensor_z="$f{0.27 + 0.09}" sensor_rpm="300"/>
      </vehicle>
      <for var="iY" from="0" to="10">
        <if condition="$f{if(iY<=3 or iY>=6, 1, 0)}">
          <block> <init_pose>0 $f{3.9+2*iY} 0</init_pose> </block>
        </if>
      </for>
    </mvsim_world>"""
    (tmp_path / "w.xml").write_text(text)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        scene = load(tmp_path / "w.xml", models=tmp_path)
    assert len(scene.blocks) == 9
    (robot,) = scene.vehicles
    assert [wheel.y for wheel in robot.dynamics.wheels[:2]] == [0.2, -0.2]
    assert robot.visuals[0].pose.x == -0.245
    assert robot.sensors[0].pose.z == pytest.approx(0.36)
    assert robot.sensors[0].period == 0.2
    assert robot.sensors[0].horz_nrays == 3616
    assert robot.odometry.x_multiplier == pytest.approx(1.0, abs=0.2)
    (plane,) = scene.elements
    assert plane.x_min == -5.0
    said = "\n".join(scene.warnings)
    assert "</model_offset_z> closes <model_offset_x>" in said
    assert "<rl_wheel> stands to the right of <rr_wheel>" in said
    assert "unknown tags" not in said
