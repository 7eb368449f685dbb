"""Ropes, springs, struts and rods: against Box2D 2.4, which has them in one, and closed forms."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from skidpad.world.contact.solids import Inertia, Moving, Part, Pushed, Surface
from skidpad.world.contact.solver import Contacts, Span

FILE = Path(__file__).parents[1] / "data" / "box2d" / "scenes.json"
SCENES = {scene["name"]: scene for scene in json.loads(FILE.read_text("utf-8"))}
DT = 0.005
SLOP = 0.005
SQUARE = ((-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2))


def recorded_scene(scene: dict[str, Any]) -> Contacts:
    """A recorded scene, built from blocks."""
    made = Contacts()
    for name, body in sorted(scene["bodies"].items()):
        surface = Surface(body.get("friction", 0.5), body.get("restitution", 0.01))
        parts, pose = [Part(body["outline"], surface)], Moving(*body["pose"])
        if body.get("static"):
            made.add_static(name, parts, pose)
            continue
        radius = max(math.hypot(*corner) for corner in body["outline"])
        damping = body.get("damping", 0.1)
        pushed = Pushed(body["mass"], body.get("ground_friction", 0.5), radius, damping, damping)
        start = Moving(*pose[:3], *body.get("velocity", (0.0, 0.0, 0.0)))
        made.add_block(name, parts, start, pushed)
    if scene["joint"]:
        joint = dict(scene["joint"])
        at_a, at_b = tuple(joint.pop("anchor_a")), tuple(joint.pop("anchor_b"))
        made.add_distance("a", "b", at_a, at_b, Span(**joint))
    return made


@pytest.mark.parametrize("name", SCENES)
def test_bodies_move_as_in_box2d_2_4(name: str) -> None:
    # Box2D 2.3 may see that something comes to a wall a step of 3 mm sooner.
    tolerance = 0.02 if name == "bounce_off_a_wall" else 3e-3
    scene = SCENES[name]
    made, rows = recorded_scene(scene), {row[0]: row[1:] for row in scene["rows"]}
    bodies = [c.removesuffix("_yaw") for c in scene["columns"] if c.endswith("_yaw")]
    for k in range(1, max(rows) + 1):
        made.step(scene["dt"], {})
        if k in rows:
            found = [value for body in bodies for value in made.at(body)]
            assert found == pytest.approx(rows[k], abs=tolerance), (k, scene["columns"])
    assert len(rows) > 15


def free_blocks(*them: tuple[float, Moving]) -> Contacts:
    """Squares a, b, ... of some masses on ice."""
    made = Contacts()
    for name, (mass, start) in zip("abc", them, strict=False):
        made.add_block(name, [Part(SQUARE)], start, Pushed(mass, 0.0, 0.3, 0.0, 0.0))
    return made


def gap(made: Contacts) -> float:
    """Distance of the middles of a and b."""
    return math.dist(made.at("a")[:2], made.at("b")[:2])


def test_a_slack_rope_does_nothing_and_a_taut_one_keeps_momentum() -> None:
    made = free_blocks((4.0, Moving(0, 0, 0, 1.0)), (6.0, Moving(-1, 0, 0)))
    made.add_distance("a", "b", (0, 0), (0, 0), Span(max_length=1.5))
    for k in range(400):
        made.step(DT, {})
        a, b = made.at("a"), made.at("b")
        assert 4.0 * a.v_x + 6.0 * b.v_x == pytest.approx(4.0, rel=1e-5)
        assert gap(made) < 1.5 + SLOP
        if (k + 1) * DT < 0.49:
            assert (b.x, b.v_x, a.v_x) == (-1.0, 0.0, 1.0)
    # Without restitution both go on together.
    assert a.v_x == pytest.approx(0.4, rel=1e-4)
    assert b.v_x == pytest.approx(0.4, rel=1e-4)


@pytest.mark.parametrize(("k", "d"), [(20.0, 0.0), (20.0, 3.0), (400.0, 10.0)])
def test_a_spring_is_one(k: float, d: float) -> None:
    """Against the implicit Euler steps of a mass m on a spring, which Box2D's formulas are."""
    m, rest = 2.0, 1.0
    made = free_blocks((m, Moving(0.7, 0, 0)))
    made.add_static("post", [Part(SQUARE)], Moving(0, 0, 0))
    made.add_distance("post", "a", (0, 0), (0, 0), Span(0.0, rest, k, d))
    x, v, steps = 0.7, 0.0, 0
    while True:
        v = (v - DT * k / m * (x - rest)) / (1.0 + DT * d / m + DT * DT * k / m)
        x += DT * v
        if x > rest - 0.01:
            # There the rope begins, which lets it go no farther.
            break
        made.step(DT, {})
        steps += 1
        assert made.at("a").x == pytest.approx(x, abs=2e-5)
        assert made.at("a").v_x == pytest.approx(v, abs=2e-4)
    assert steps > 15


def test_damping_needs_a_spring() -> None:
    made = free_blocks((1.0, Moving(0, 0, 0, 0.5)), (1.0, Moving(-1, 0, 0)))
    made.add_distance("a", "b", (0, 0), (0, 0), Span(0.0, 9.0, 0.0, 100.0))
    for _ in range(100):
        made.step(DT, {})
    assert made.at("a").v_x == 0.5
    assert made.at("b").v_x == 0.0


def test_a_least_length_keeps_apart_and_never_pulls() -> None:
    made = free_blocks((1.0, Moving(0, 0, 0, -2.0)), (3.0, Moving(-1, 0, 0)))
    made.add_distance("a", "b", (0, 0), (0, 0), Span(0.6, 5.0))
    for _ in range(300):
        made.step(DT, {})
        assert gap(made) > 0.6 - SLOP
        assert made.at("a").v_x + 3.0 * made.at("b").v_x == pytest.approx(-2.0, rel=1e-5)
    assert made.at("a").v_x == pytest.approx(-0.5, rel=1e-4)
    # Away again: nothing holds them together.
    here = made.at("a")
    made.put("a", here._replace(v_x=1.0))
    for _ in range(100):
        made.step(DT, {})
    assert made.at("a").v_x == pytest.approx(1.0, rel=1e-6)
    assert made.at("b").v_x == pytest.approx(-0.5, rel=1e-4)


def test_a_rod_keeps_its_length_and_the_angular_momentum() -> None:
    """Two masses on a rod, one of them struck across: they circle about their common centre."""
    m_a, m_b, length, v = 2.0, 3.0, 1.0, 1.0
    made = free_blocks((m_a, Moving(0, 0, 0, 0.0, v)), (m_b, Moving(-length, 0, 0)))
    made.add_distance("a", "b", (0, 0), (0, 0), Span(length, length))
    for _ in range(400):
        made.step(DT, {})
        assert gap(made) == pytest.approx(length, abs=SLOP)
    a, b = made.at("a"), made.at("b")
    assert m_a * a.v_x + m_b * b.v_x == pytest.approx(0.0, abs=1e-4)
    assert m_a * a.v_y + m_b * b.v_y == pytest.approx(m_a * v, rel=1e-4)
    spin = m_a * (a.x * a.v_y - a.y * a.v_x) + m_b * (b.x * b.v_y - b.y * b.v_x)
    # About the origin, where the one that was struck started.
    assert spin == pytest.approx(0.0, abs=0.02)
    turn = math.atan2(a.y - b.y, a.x - b.x)
    assert turn == pytest.approx(v / length * 400 * DT, abs=0.02)


def test_vehicles_on_a_joint_are_always_in_and_do_not_collide_with_each_other() -> None:
    made = Contacts()
    for name, x in (("v", 0.0), ("w", 0.3), ("u", 5.0)):
        made.add_vehicle(name, [Part(SQUARE)], Moving(x, 0, 0), Inertia(2.0, 0.0, 0.0, 0.1))
    made.add_distance("v", "w", (0, 0), (0, 0), Span(max_length=2.0))
    assert [made.always_in(name) for name in ("v", "w", "u")] == [True, True, False]
    given = {"v": Moving(0, 0, 0), "w": Moving(0.3, 0, 0)}
    for _ in range(20):
        given = made.step(DT, given)
    assert given["w"].x - given["v"].x == pytest.approx(0.3)
    assert not made.touches.contacts
