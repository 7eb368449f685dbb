"""The outline of a steered wheel turns with it."""

from __future__ import annotations

import math

import pytest

import skidpad as sp
from world.worlds import world

CAR = (
    "<vehicle name='car'><init_pose>0 0 0</init_pose><dynamics class='ackermann'>"
    "<chassis mass='500' zmin='0.2' zmax='1'><shape><pt>-0.5 -0.6</pt><pt>-0.5 0.6</pt>"
    "<pt>1.8 0.6</pt><pt>1.8 -0.6</pt></shape></chassis>"
    "<rl_wheel pos='0 0.7' diameter='0.6' width='0.2'/><rr_wheel pos='0 -0.7' diameter='0.6' "
    "width='0.2'/><fl_wheel diameter='0.6' width='0.2'/><fr_wheel diameter='0.6' width='0.2'/>"
    "<f_wheels_x>1.3</f_wheels_x><f_wheels_d>1.4</f_wheels_d><max_steer_ang_deg>40</max_steer_ang_deg>"
    "<controller class='raw'/></dynamics></vehicle>"
)
POST = (
    "<block name='post'><static>true</static><init_pose>{x} {y} 0</init_pose>"
    "<shape><pt>-0.05 -0.05</pt><pt>0.05 -0.05</pt><pt>0.05 0.05</pt><pt>-0.05 0.05</pt></shape>"
    "</block>"
)


def parked(x: float, y: float, steer: float) -> sp.World:
    """A car with its wheels turned, and a post at a place beside it."""
    made = sp.World(world(CAR + POST.format(x=x, y=y)))
    made.vehicles["car"].command(steer=steer)
    made.run(0.2)
    return made


def front_left(made: sp.World) -> float:
    """Angle of the front left wheel."""
    return made.vehicles["car"].state.steer_fl


@pytest.mark.parametrize(
    ("x", "y", "steer", "met"),
    [
        # Ahead of the front left wheel, whose middle is at (1.3, 0.7): it reaches to x = 1.6 and,
        # turned by 33 degrees, to (1.3 + 0.3 cos - 0.1 sin, 0.7 + 0.3 sin + 0.1 cos).
        (1.45, 0.98, 0.0, False),
        (1.45, 0.98, 0.5, True),
        (1.25, 0.92, 0.5, False),
        # On the other side of the wheel when it turns the other way.
        (1.08, 0.94, -0.5, True),
        (1.08, 0.94, 0.0, False),
        # Beside the rear wheel, which never turns.
        (0.15, 0.98, 0.5, False),
    ],
)
def test_a_turned_wheel_reaches_out(x: float, y: float, steer: float, met: bool) -> None:
    made = parked(x, y, steer)
    assert bool(made.contact_events) == met
    angle = front_left(made) if made.contact_events else front_left(parked(9.0, 9.0, steer))
    assert math.copysign(1.0, angle) == math.copysign(1.0, steer) or steer == 0.0


def test_a_wheel_that_turns_back_lets_go() -> None:
    made = parked(1.45, 0.98, 0.5)
    assert [(c.a, c.b) for c in made.contacts] == [("car", "post")]
    made.vehicles["car"].command(steer=0.0)
    made.run(0.5)
    assert not made.contacts
    assert [e.kind for e in made.contact_events] == ["begin", "end"]


def test_turned_wheels_weigh_what_they_did() -> None:
    """A free car that is hit moves the same, whichever way its wheels point: mass and inertia of
    the solver's body are left alone."""
    from skidpad.world.contact.solids import Moving
    from skidpad.world.contact.solver import Contacts
    from skidpad.world.vehicle import fill

    found = []
    for angle in (0.0, 0.6):
        scene = world(CAR + POST.format(x=-0.7, y=0.3))
        made = sp.World(scene).vehicles["car"].built
        contacts = Contacts()
        fill(contacts, scene, {"car": made})
        for one in made.turning:
            contacts.reshape("car", one.number, one.outline(angle))
        moving = Moving(0, 0, 0, -1.0)
        for _ in range(60):
            moving = contacts.step(0.005, {"car": moving})["car"]
        found.append(moving)
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert abs(found[0].omega) > 0.01
