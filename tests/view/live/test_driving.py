"""Keys drive every kind of vehicle: ahead, left and right, brake, back, and stop when let go."""

from __future__ import annotations

from typing import Any

import pytest

from skidpad.control.keyboard import Axes
from skidpad.view.live.arena import Arena
from view.live.worlds import arena, run

# `controllers/test_driving.py` shows the same of the vehicles alone, in less time.
pytestmark = pytest.mark.slow

OWN = (
    *("formula_student", "four_wheel", "kinematic_bicycle", "ackermann_truck"),
    *("commonroad_dynamic_bicycle", "IDEAL_STEER_VEL", "IDEAL_STEER_ACC", "DELAY_STEER_VEL"),
    *("DELAY_STEER_ACC_GEARED", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"),
)
WHEELED = (
    *(("differential", "twist_pid"), ("differential", "raw"), ("differential_4_wheels", "raw")),
    *(("ackermann", "raw"), ("ackermann", "front_steer_pid")),
    *(("ackermann", "twist_front_steer_pid"), ("ackermann_drivetrain", "raw")),
)
NAMES = [*OWN, *(f"{kind}.{control}" for kind, control in WHEELED)]


def of_all_kinds() -> Arena:
    """One vehicle of each kind, far from each other."""
    elements = [
        f'<vehicle name="{name}"><init_pose>0 {300 * k} 0</init_pose>'
        f'<dynamics class="skidpad:{name}"/></vehicle>'
        for k, name in enumerate(OWN)
    ]
    elements += [
        f'<vehicle name="{kind}.{control}"><init_pose>3000 {300 * k} 0</init_pose>'
        f'<dynamics class="{kind}"><controller class="{control}"/></dynamics></vehicle>'
        for k, (kind, control) in enumerate(WHEELED)
    ]
    return arena(*elements)


class Drive:
    """All vehicles of a world driven alike, and how they moved at the end of each part."""

    def __init__(self) -> None:
        self.arena = of_all_kinds()
        for name in NAMES:
            self.arena.choose(name, "keyboard")

    def __call__(self, axes: Axes | None, duration: float) -> dict[str, Any]:
        for name in NAMES:
            pilot = self.arena._pilots[name]
            pilot.let_go() if axes is None else pilot.drive(axes)
        run(self.arena, duration)
        return {name: self.arena.world.vehicles[name].truth for name in NAMES}


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, Any]]:
    drive = Drive()
    return {
        "ahead": drive(Axes(1.0, 0.0), 1.5),
        "left": drive(Axes(0.2, 1.0), 1.0),
        "straight": drive(Axes(0.2, 0.0), 1.0),
        "right": drive(Axes(0.2, -1.0), 1.5),
        "brake": drive(Axes(-1.0, 0.0), 0.7),
        "back": drive(Axes(-1.0, 0.0), 4.0),
        "handbrake": drive(Axes(0.0, 0.0, handbrake=True), 4.0),
        "again": drive(Axes(1.0, 0.0), 1.5),
        "let go": drive(None, 6.0),
        "later": drive(None, 1.0),
    }


@pytest.mark.slow_cases("four_wheel", "kinematic_bicycle")
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_does_what_the_keys_say(name: str, parts: Any) -> None:
    at = {part: seen[name] for part, seen in parts.items()}
    assert at["ahead"].v_x > 0.5
    assert abs(at["ahead"].yaw) < 0.01
    assert at["left"].yaw > at["ahead"].yaw + 0.1
    assert at["right"].yaw < at["straight"].yaw
    assert at["brake"].v_x < at["right"].v_x
    assert at["back"].v_x < -0.3
    assert abs(at["handbrake"].v_x) < 0.2
    assert at["again"].v_x > 0.5
    assert abs(at["let go"].v_x) < 0.1


@pytest.mark.parametrize("name", NAMES)
def test_who_was_let_go_of_stands(name: str, parts: Any) -> None:
    before, after = parts["let go"][name], parts["later"][name]
    assert abs(after.x - before.x) + abs(after.y - before.y) < 0.1
