"""Outlines: cut into convex pieces, taken from solids and models, or stood in for."""

from __future__ import annotations

import math
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.core.body import Point
from skidpad.geometry.polygon import cleaned, convex_parts, hull, rounded_hull
from skidpad.geometry.polygon import signed_area as area
from skidpad.world.xml import shapes
from world.worlds import WORLDS, block, vehicle, world

PARTS = WORLDS / "parts"


def points(text: str) -> str:
    return "".join(f"<pt>{pair}</pt>" for pair in text.split(", "))


def turns_left(outline: list[Point] | tuple[Point, ...]) -> bool:
    sides = zip(outline, outline[1:] + outline[:1], outline[2:] + outline[:2], strict=True)
    return all(
        (b[0] - a[0]) * (c[1] - b[1]) >= (b[1] - a[1]) * (c[0] - b[0]) - 1e-9 for a, b, c in sides
    )


def test_corners_go_round_counter_clockwise_without_repeats_and_flats() -> None:
    outline = cleaned([(0, 0), (0, 0), (0, 1), (0, 2), (2, 2), (2, 0), (0, 0)])
    assert set(outline) == {(0, 0), (0, 2), (2, 2), (2, 0)}
    assert area(outline) == 4.0


@given(
    st.lists(
        st.tuples(st.floats(0.2, 3.0), st.floats(0.02, 1.0)), min_size=4, max_size=14, unique=True
    )
)
def test_stars_are_cut_into_convex_pieces_that_fill_them(rays: list[tuple[float, float]]) -> None:
    # Rays in rising angles around a point make an outline that does not cross itself as long as
    # no two neighbours are half a turn apart.
    turn = 2.0 * math.pi / sum(step for _, step in rays)
    angle, corners = 0.0, []
    for radius, step in rays:
        if step * turn > 3.0:
            return
        angle += step * turn
        corners.append((radius * math.cos(angle), radius * math.sin(angle)))
    outline = cleaned(corners)
    parts = convex_parts(outline)
    assert all(turns_left(part) for part in parts)
    assert sum(area(part) for part in parts) == pytest.approx(area(outline), rel=1e-9)
    assert all(area(part) > 0.0 for part in parts)
    assert {corner for part in parts for corner in part} == set(outline)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=60))
def test_a_rounded_hull_holds_all_points_with_few_corners(cloud: list[Point]) -> None:
    if len(set(cloud)) < 3 or len(hull(cloud)) < 3 or area(hull(cloud)) < 1e-3:
        return
    around = rounded_hull(cloud, 8)
    assert len(around) <= 8
    for (a_x, a_y), (b_x, b_y) in zip(around, around[1:] + around[:1], strict=True):
        length = math.hypot(b_x - a_x, b_y - a_y)
        for x, y in cloud:
            aside = (b_x - a_x) * (y - a_y) - (b_y - a_y) * (x - a_x)
            assert aside >= -1e-7 * max(length, 1e-3)


def test_upstream_takes_the_hull_of_a_shape() -> None:
    corner = f"<shape>{points('0 0, 2 0, 2 1, 1 1, 1 2, 0 2')}</shape>"
    right, upstream = block(corner).shape, block(corner, compat="upstream").shape
    assert len(right.parts) == 2
    assert area(right.outline) == 3.0
    assert len(upstream.parts) == 1
    assert area(upstream.outline) == 3.5
    crossing = f"<shape>{points('0 0, 1 1, 1 0, 0 1')}</shape>"
    assert area(block(crossing, compat="upstream").shape.outline) == 1.0


@pytest.mark.parametrize(
    ("geometry", "box", "heights"),
    [
        ("type='box' lx='2' ly='1' lz='0.5'", (0, 2, 0, 1), (0, 0.5)),
        ("type='ramp' lx='2' ly='1' lz='0.5'", (0, 2, -0.5, 0.5), (0, 0.5)),
        ("type='semi_cylinder_bump' lx='2' ly='1' lz='0.5'", (-1, 1, -0.5, 0.5), (0, 0.5)),
        ("type='cylinder' radius='2' length='3' vertex_count='4'", (-2, 2, -2, 2), (0, 3)),
        ("type='sphere' radius='2' vertex_count='12'", (-2, 2, -2, 2), (-2, 2)),
    ],
)
def test_solids(geometry: str, box: tuple[float, ...], heights: tuple[float, float]) -> None:
    shape = block(f"<geometry {geometry}/>").shape
    x, y = zip(*shape.outline, strict=True)
    assert (min(x), max(x), min(y), max(y)) == pytest.approx(box)
    assert (shape.z_min, shape.z_max) == heights
    given_heights = block(f"<geometry {geometry}/><zmin>0.1</zmin><zmax>9</zmax>").shape
    assert (given_heights.z_min, given_heights.z_max) == (0.1, 9.0)


def test_a_round_solid_with_many_corners_gets_fewer_around_it() -> None:
    outline = block("<geometry type='cylinder' radius='1' length='1' vertex_count='40'/>").shape
    assert len(outline.outline) == 14
    middles = [
        math.hypot((a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0)
        for a, b in zip(outline.outline, outline.outline[1:], strict=False)
    ]
    assert middles == pytest.approx([1.0] * 13)


def test_to_upstream_a_solid_is_a_picture_unless_the_shape_is_taken_from_it() -> None:
    solid = "<geometry type='box' lx='2' ly='1' lz='0.5'/>"
    assert area(block(solid, compat="upstream").shape.outline) == 1.0
    assert area(block(solid + "<shape_from_visual/>", compat="upstream").shape.outline) == 2.0


def test_a_block_without_shape_is_a_box_of_one_metre() -> None:
    shape = block().shape
    assert area(shape.outline) == 1.0
    assert (shape.z_min, shape.z_max, shape.made_from) == (0.0, 1.0, "default")


@pytest.mark.parametrize("name", ["wedge.obj", "wedge.stl", "wedge.dae"])
def test_shapes_from_models(name: str) -> None:
    # Upstream's importer turns COLLADA files upright, to y up: that one has to be rolled back.
    roll = 90 if name.endswith("dae") else 0
    uri = f"<model_uri>{PARTS / name}</model_uri>"
    visual = f"<visual>{uri}<model_roll>{roll}</model_roll></visual>"
    shape = block(f"<shape_from_visual/><zmax>2</zmax>{visual}").shape
    corners = {(round(x, 9) + 0.0, round(y, 9) + 0.0) for x, y in shape.outline}
    assert corners == {(0.0, 0.0), (1.0, 0.0), (0.0, 2.0)}
    assert shape.z_min == pytest.approx(0.0, abs=1e-9)
    assert shape.z_max == pytest.approx(2.0 if name == "wedge.obj" else 1.0)
    assert shape.made_from == "mesh"


def test_models_are_cut_at_the_heights_of_the_object() -> None:
    visual = f"<visual><model_uri>{PARTS / 'wedge.obj'}</model_uri></visual>"
    # The spike runs from the edge (0, 0, 1)-(1, 0, 1) to (0.2, 0.2, 5): halfway up, z = 3, its
    # section is the line from (0.1, 0.1) to (0.6, 0.1), which a slab turns into an area.
    shape = block(f"<shape_from_visual/><zmin>3</zmin><zmax>4</zmax>{visual}").shape
    x, y = zip(*shape.outline, strict=True)
    assert (min(x), max(x)) == pytest.approx((0.1, 0.6))
    assert (min(y), max(y)) == pytest.approx((0.1, 0.15))
    assert (shape.z_min, shape.z_max) == pytest.approx((3.0, 4.0))


def test_a_model_is_scaled_turned_and_moved(tmp_path: Path) -> None:
    visual = (
        f"<visual><model_uri>{PARTS / 'wedge.stl'}</model_uri><model_scale>2</model_scale>"
        "<model_yaw>90</model_yaw><model_offset_x>10</model_offset_x>"
        "<model_offset_z>-1</model_offset_z></visual>"
    )
    shape = block(f"<shape_from_visual/>{visual}").shape
    corners = {(round(x, 9) + 0.0, round(y, 9) + 0.0) for x, y in shape.outline}
    # (x, y) doubled, then turned left: (-2y, 2x), then 10 m along x.
    assert corners == {(10.0, 0.0), (10.0, 2.0), (6.0, 0.0)}
    assert (shape.z_min, shape.z_max) == pytest.approx((-1.0, 1.0))


def test_stand_ins_are_named_with_the_reason() -> None:
    visual = "<visual><model_uri>no/model.dae</model_uri></visual>"
    bare = world(
        f"<block name='b'><init_pose>0 0 0</init_pose><shape_from_visual/>{visual}</block>"
    )
    assert bare.blocks[0].shape.made_from == "stand-in"
    assert area(bare.blocks[0].shape.outline) == 1.0
    (line,) = [line for line in bare.warnings if line.startswith("stand-in shapes")]
    assert "model.dae does not exist: a box of 1 m for b (" in line
    declared = f"<shape_from_visual/><shape>{points('0 0, 2 0, 0 2')}</shape>{visual}"
    assert area(block(declared).shape.outline) == 2.0


def test_a_vehicle_without_model_is_as_large_as_its_wheels() -> None:
    chassis = "<chassis mass='5' zmin='0.1' zmax='0.5'><shape_from_visual/></chassis>"
    wheel = "mass='1' width='0.1' diameter='0.4'"
    wheels = f"<l_wheel pos='0 0.5' {wheel}/><r_wheel pos='0 -0.5' {wheel}/>"
    found = vehicle(f"<dynamics class='differential'>{chassis}{wheels}</dynamics>")
    assert found.shape.made_from == "stand-in"
    x, y = zip(*found.shape.outline, strict=True)
    assert (min(x), max(x), min(y), max(y)) == pytest.approx((-0.2, 0.2, -0.55, 0.55))
    assert (found.shape.z_min, found.shape.z_max) == (0.1, 0.5)
    assert found.dynamics.chassis.shape == found.shape.outline


def test_a_vehicle_takes_the_shape_of_its_model() -> None:
    visual = f"<visual><model_uri>{PARTS / 'wedge.obj'}</model_uri></visual>"
    chassis = "<chassis zmin='0' zmax='0.5'><shape_from_visual/></chassis>"
    found = vehicle(f"<dynamics class='differential'>{chassis}</dynamics>{visual}")
    assert set(found.shape.outline) == {(0.0, 0.0), (1.0, 0.0), (0.0, 2.0)}
    assert found.dynamics.chassis.shape == found.shape.outline
    assert found.dynamics.chassis.z_max == pytest.approx(0.5)


def test_without_the_libraries_there_is_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes._triangles.cache_clear()
    for package in ("trimesh", "collada"):
        monkeypatch.setitem(sys.modules, package, None)
    visual = f"<visual><model_uri>{PARTS / 'wedge.obj'}</model_uri></visual>"
    inside = f"<block><init_pose>0 0 0</init_pose><shape_from_visual/>{visual}</block>"
    scene = world(inside)
    assert scene.blocks[0].shape.made_from == "stand-in"
    assert any('pip install "skidpad[mesh]"' in line for line in scene.warnings)
    drawing = f"<walls><model_uri>{PARTS / 'plan.dae'}</model_uri></walls>"
    scene = world(drawing)
    assert scene.walls == ()
    assert scene.warnings[0].startswith("walls left out")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a model",
        b'<!DOCTYPE a [<!ENTITY x "y">]><COLLADA/>',
        b"<COLLADA/>",
    ],
)
def test_broken_models_get_a_stand_in(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.dae").write_bytes(content)
    inside = "<shape_from_visual/><visual><model_uri>m.dae</model_uri></visual>"
    assert block(inside, folder=tmp_path).shape.made_from == "stand-in"


REMOTE = "<shape_from_visual/><visual><model_uri>https://models.example/{}</model_uri></visual>"


def test_remote_models_are_looked_up_and_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*arguments: object, **more: object) -> None:
        raise AssertionError("tried to download")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    there = REMOTE.format("wedge.obj")
    assert block(there, models=tmp_path).shape.made_from == "stand-in"
    (tmp_path / "wedge.obj").write_bytes((PARTS / "wedge.obj").read_bytes())
    assert block(there, models=tmp_path).shape.made_from == "mesh"


def test_remote_models_in_archives_are_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.write(PARTS / "wedge.obj", "deep/wedge.obj")
    inside = REMOTE.format("pack.zip/deep/wedge.obj")
    assert block(inside, models=tmp_path).shape.made_from == "mesh"
    assert (tmp_path / "pack.out" / "deep" / "wedge.obj").is_file()
    # Upstream's own cache may hold the unpacked folder alone.
    (tmp_path / "pack.zip").unlink()
    assert block(inside, models=tmp_path).shape.made_from == "mesh"


def test_an_archive_cannot_write_outside_of_its_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.writestr("../../escaped.obj", "v 0 0 0")
    models = tmp_path / "a" / "b"
    models.mkdir(parents=True)
    (tmp_path / "pack.zip").rename(models / "pack.zip")
    block(REMOTE.format("pack.zip/x.obj"), models=models)
    assert not (tmp_path / "escaped.obj").exists()
    assert not (tmp_path / "a" / "escaped.obj").exists()


def test_a_download_that_is_allowed_fills_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(address: str, timeout: float) -> object:
        asked.append(address)
        return (PARTS / "wedge.obj").open("rb")

    monkeypatch.setattr("urllib.request.urlopen", answer)
    options = {"models": tmp_path / "new", "allow_download": True}
    for _ in range(2):
        assert block(REMOTE.format("wedge.obj"), **options).shape.made_from == "mesh"
    assert asked == ["https://models.example/wedge.obj"]


def test_a_download_that_fails_gives_a_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, timeout: float) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    shape = block(REMOTE.format("wedge.obj"), models=tmp_path, allow_download=True).shape
    assert shape.made_from == "stand-in"
    assert list(tmp_path.iterdir()) == []


def test_local_archives_are_read_through(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.write(PARTS / "wedge.obj", "wedge.obj")
    inside = "<shape_from_visual/><visual><model_uri>pack.zip/wedge.obj</model_uri></visual>"
    assert block(inside, folder=tmp_path).shape.made_from == "mesh"
