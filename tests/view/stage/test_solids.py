"""Solids of a stage, and their encodings for Foxglove and RViz."""

from __future__ import annotations

import pytest

from skidpad.ros2.nodes.common import marker
from skidpad.view.recording.messages import protobuf_fields
from skidpad.view.recording.topics import scene
from skidpad.view.solids import (
    ORIGIN,
    Box,
    Cylinder,
    Entity,
    Mesh,
    Polyline,
    Solid,
    body_entities,
    prisms,
    still_entities,
)
from skidpad.view.stage import Disc, Stage
from view.recording.stages import full_stage

RED = (1.0, 0.0, 0.0, 1.0)
SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0))


def test_a_prism_has_a_top_and_four_sides() -> None:
    (mesh,) = prisms([SQUARE], 0.5, 1.5, RED)
    assert isinstance(mesh, Mesh)
    assert {z for _, _, z in mesh.points} == {0.5, 1.5}
    # Two triangles for the top and for each side.
    assert len(mesh.corners) == 3 * 2 * 5
    assert max(mesh.corners) < len(mesh.points)


def test_a_flat_outline_has_no_sides_and_one_that_crosses_itself_is_a_line() -> None:
    bow = ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0))
    mesh, line = prisms([SQUARE, bow], 0.0, 0.0, RED)
    assert isinstance(mesh, Mesh)
    assert len(mesh.corners) == 6
    assert isinstance(line, Polyline)
    assert (line.closed, len(line.points)) == (True, 4)


def test_steered_wheels_are_entities_of_their_own() -> None:
    car = full_stage().body("car")
    own, wheel = body_entities("frame", car)
    assert (own.frame, own.name) == ("frame", "car")
    assert [type(solid) for solid in own.solids] == [Mesh, Cylinder]
    assert (wheel.frame, wheel.name) == ("frame/fl", "car fl")
    (cylinder,) = wheel.solids
    assert isinstance(cylinder, Cylinder)
    assert cylinder.placement[0] == (0.0, 0.0, 0.3)
    assert cylinder.size == (0.6, 0.6, 0.2)


def test_cones_narrow_and_posts_do_not() -> None:
    discs = (Disc(1.0, 2.0, 0.1, "cone", "blue"), Disc(3.0, 4.0, 0.1, "post"))
    (entity,) = still_entities(Stage("s", (), (), discs=discs), "world")
    assert (entity.frame, entity.name) == ("world", "still discs")
    cone, post = entity.solids
    assert isinstance(cone, Cylinder)
    assert isinstance(post, Cylinder)
    assert cone.top < 1.0 == post.top
    assert cone.placement[0] == (1.0, 2.0, 0.5 * cone.size[2])


@pytest.mark.parametrize(
    ("solid", "primitive", "kind"),
    [
        (Mesh(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), (0, 1, 2), RED), 12, 11),
        (Box(ORIGIN, (1.0, 2.0, 3.0), RED), 8, 1),
        (Cylinder(ORIGIN, (1.0, 1.0, 3.0), RED), 10, 3),
        (Polyline(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), RED, closed=True), 11, 4),
    ],
)
def test_foxglove_and_rviz_have_a_shape_for_each_solid(
    solid: Solid, primitive: int, kind: int
) -> None:
    update = protobuf_fields(scene([Entity("frame", "name", [solid])]).data)
    (entity,) = update[2]
    assert isinstance(entity, bytes)
    assert primitive in protobuf_fields(entity)
    shown = marker("frame", "space", 7, solid)
    assert (shown.header.frame_id, shown.ns, shown.id, shown.type) == ("frame", "space", 7, kind)
    assert tuple(shown.color) == RED
    if isinstance(solid, (Mesh, Polyline)):
        assert len(shown.points) == 3
