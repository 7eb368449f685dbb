"""Small files that would become large: refused with the limit, before they do."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from core.files.kinds import DATA, MAP_YAML, OSM, WORLD
from skidpad.compat.autoware.road import read_lanelets
from skidpad.compat.truck.model_file import truck_model
from skidpad.core import files
from skidpad.errors import InvalidValue, MissingFile, SkidpadError
from skidpad.geometry.maps import occupancy
from skidpad.geometry.maps.map import Map
from skidpad.run import trajectory_table
from skidpad.run.trajectory_table import Column
from skidpad.study.logs.reading import read_log
from skidpad.units import Unit
from skidpad.vehicles.command_driven.parameters import gather
from skidpad.view.recording import read
from skidpad.world import xml
from skidpad.world.scene import WorldError


class Counted(str):
    """A name that counts how often names are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)  # pyright: ignore[reportReturnType]

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_repeated_names_are_found_without_comparing_each_with_each() -> None:
    Counted.compared = 0
    assert files.first_repeated(Counted(f"c{k}") for k in range(2000)) is None
    assert Counted.compared < 200  # collisions of hashes alone; each with each were 2 million
    assert files.first_repeated(["a", "b", "c", "b", "a"]) == "b"


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 20)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 10)}]}}\n" for k in range(1, 20)
)


@pytest.mark.parametrize("text", [LAUGHS, MERGED, "a: &a [*a]"], ids=["lists", "merged", "itself"])
@pytest.mark.parametrize("reader", [Map.load, truck_model])
def test_aliases_do_not_make_yaml_large(
    reader: Callable[[Path], Any], text: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(MAP_YAML + text)
    with pytest.raises(InvalidValue, match=f"m.yaml has more than {files.MOST_YAML_NODES} values"):
        reader(file)


def test_aliases_that_stay_small_are_read(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("a: &a {x: 1, y: [2, 3]}\nb: *a\nc:\n  <<: *a\n  x: 4\n")
    small = {"x": 1, "y": [2, 3]}
    assert files.yaml_of(file) == {"a": small, "b": small, "c": {**small, "x": 4}}


@pytest.mark.parametrize("reader", [Map.load, truck_model, gather])
def test_a_long_yaml_is_refused(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("# " + "x" * files.LARGEST_YAML)
    with pytest.raises(InvalidValue, match=f"at most {files.LARGEST_YAML} are"):
        reader(file)


def test_a_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.json"
    file.write_text("[1, 2, 3]")
    monkeypatch.setattr(files, "LARGEST", 5)
    with pytest.raises(InvalidValue, match=r"m\.json has 9 bytes; at most 5 are allowed"):
        files.json_of(file)


def test_a_table_of_too_many_numbers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal numbers take next to nothing in the file."""
    same = Column("x", Unit("m", length=1), "state", np.zeros(1000))
    sp.Trajectory(np.arange(1000.0), (same,)).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(trajectory_table, "MOST_VALUES", 1999)
    for reader in (sp.Trajectory.from_parquet, read_log):
        with pytest.raises(
            InvalidValue, match=r"t\.parquet .* 2000 values; at most 1999 are allowed"
        ):
            reader(tmp_path / "t.parquet")


def test_a_missing_file_is_both_kinds_of_error(tmp_path: Path) -> None:
    for reader in (files.text_of, files.json_of, files.yaml_of, files.bytes_of):
        with pytest.raises(MissingFile, match=r"none\.txt") as caught:
            reader(tmp_path / "none.txt")
        assert isinstance(caught.value, (FileNotFoundError, InvalidValue))


DOUBLED = (
    '<mvsim_world version="1.0"><variable name="a" value="xxxxxxxxxx"/>'
    + '<variable name="a" value="${a}${a}"/>' * 60
    + "</mvsim_world>"
)
NEW_NAMES = (
    '<mvsim_world version="1.0"><for var="i" from="1" to="90000">'
    '<variable name="v${i}" value="1"/></for></mvsim_world>'
)


@pytest.mark.parametrize(
    ("text", "limit"),
    [(DOUBLED, "longer than 100000 characters"), (NEW_NAMES, "more than 5000 variables")],
)
def test_variables_of_a_world_do_not_grow(text: str, limit: str, tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    file.write_text(text)
    with pytest.raises(WorldError, match=limit):
        xml.load(file)


def _chain(folder: Path, link: Callable[[int], str]) -> Path:
    """Files that include the next of them, each as `link` says."""
    for k in range(40):
        (folder / f"{k}.xml").write_text(link(k))
    (folder / "40.xml").write_text("<gui></gui>")
    file = folder / "w.xml"
    file.write_text('<mvsim_world version="1.0"><include file="0.xml"/></mvsim_world>')
    return file


def test_includes_of_a_world_do_not_double(tmp_path: Path) -> None:
    file = _chain(tmp_path, lambda k: f'<include file="{k + 1}.xml"/>' * 2)
    with pytest.raises(WorldError, match="more than limit = 500 includes"):
        xml.load(file, limit=500)
    (error,) = xml.problems(file, limit=500)
    assert "more than limit = 500 includes" in str(error)


def test_includes_of_a_world_are_not_too_deep(tmp_path: Path) -> None:
    for k in range(60):
        (tmp_path / f"{k}.xml").write_text(f'<include file="{k + 1}.xml"/>')
    (tmp_path / "w.xml").write_text(
        '<mvsim_world version="1.0"><include file="0.xml"/></mvsim_world>'
    )
    with pytest.raises(WorldError, match="more than 50 files that include one another"):
        xml.load(tmp_path / "w.xml")


def test_attributes_of_includes_do_not_double(tmp_path: Path) -> None:
    """Empty in the end, but asked for 2**40 times."""
    file = _chain(
        tmp_path, lambda k: f'<include file="{k + 1}.xml" a{k + 1}="${{a{k}}}${{a{k}}}"/>'
    )
    (tmp_path / "0.xml").write_text('<include file="1.xml" a1=""/>')
    (tmp_path / "40.xml").write_text("<gui><x>${a40}</x></gui>")
    with pytest.raises(WorldError, match="needs more than 20000 values"):
        xml.load(file)


@pytest.mark.parametrize(
    "text",
    [
        "$f{inf % 2}",
        "$f{randomize(inf)}",
        "$f{randomize(0/1 - inf)}",
        "$f{roundn(1, 1e9)}",
        "$f{" + "(" * 500,
        "$f{" + "-" * 5000 + "x}",
        "$f{" + "9" * 400 + "}",
        "&#0;",
        "&#xD800;",
        "&#" + "9" * 5000 + ";",
    ],
)
def test_odd_numbers_of_a_world_are_refused_with_their_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    file.write_text(WORLD.replace("0.005", text))
    with pytest.raises(WorldError, match=r"w\.xml, line 3"):
        xml.load(file)


@pytest.mark.parametrize("encoding", ["punycode", "idna", "undefined", "zlib", "utf-99", "utf-16"])
def test_odd_encodings_of_a_world_are_refused(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    file.write_text(f'<?xml version="1.0" encoding="{encoding}"?>é{WORLD}', "utf-8")
    with pytest.raises(WorldError, match=r"w\.xml"):
        xml.load(file)


def test_heights_of_points_far_apart_are_refused(tmp_path: Path) -> None:
    for far in ("1e9", "1e200"):
        (tmp_path / "dem.txt").write_text(f"0 0 0\n{far} 0 1\n0 {far} 2\n{far} {far} 3\n")
        (tmp_path / "w.xml").write_text(
            '<mvsim_world version="1.0"><element class="elevation_map"><resolution>0.1</resolution>'
            "<dem_xyzrgb_file>dem.txt</dem_xyzrgb_file></element></mvsim_world>"
        )
        with pytest.raises(WorldError, match="25000000 in all"):
            xml.load(tmp_path / "w.xml")


def _png_that_claims(width: int, height: int) -> bytes:
    """A PNG of few bytes; its pixels are not there."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [(20_000, 8_000), (60_000, 60_000)])
def test_an_image_of_too_many_pixels_is_refused(size: tuple[int, int], tmp_path: Path) -> None:
    file = tmp_path / "m.png"
    file.write_bytes(_png_that_claims(*size))
    with pytest.raises(InvalidValue, match=r"m\.png.*(100000000|DecompressionBomb)"):
        Map.load(file, resolution=0.1)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "I;16", "P"])
def test_an_image_is_the_same_in_strips(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    shades = np.random.default_rng(1).integers(0, 256, (37, 11, 4), dtype=np.uint8)
    image = Image.fromarray(shades[:, :, 0].astype(np.uint16) * 257)
    if mode != "I;16":
        image = Image.fromarray(shades).convert(mode)
    image.save(tmp_path / "m.png")
    whole = Map.load(tmp_path / "m.png", resolution=0.1).grid
    monkeypatch.setattr(occupancy, "_STRIP", 25)
    strips = Map.load(tmp_path / "m.png", resolution=0.1).grid
    assert whole is not None
    assert strips is not None
    assert np.array_equal(strips.occupied, whole.occupied)


@pytest.mark.parametrize("name", ["drive_zstd", "drive_lz4", "drive_plain"])
@pytest.mark.parametrize("size", [2 << 30, (1 << 63) - 1])
def test_a_chunk_that_claims_gigabytes_is_refused(name: str, size: int, tmp_path: Path) -> None:
    data = bytearray((DATA / "identify" / f"{name}.mcap").read_bytes())
    _claim(data, size)
    (tmp_path / "log.mcap").write_bytes(data)
    with pytest.raises(InvalidValue, match=rf"claims to hold {size} bytes; at most 536870912"):
        read_log(tmp_path / "log.mcap")


def test_a_recording_whose_chunk_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    data = bytearray((DATA / "recordings" / "format_1.mcap").read_bytes())
    _claim(data, 2 << 30)
    (tmp_path / "log.mcap").write_bytes(data)
    with pytest.raises(SkidpadError, match="at most 536870912"):
        read(tmp_path / "log.mcap")


def _claim(data: bytearray, size: int) -> None:
    """Let the first chunk of an MCAP file say that it holds so many bytes."""
    at, chunk = 8, 6
    while data[at] != chunk:
        at += 9 + struct.unpack_from("<Q", data, at + 1)[0]
    struct.pack_into("<Q", data, at + 9 + 16, size)


@pytest.mark.parametrize("far", ["1e9", "1e200", "-1e308"])
@pytest.mark.parametrize("name", ["local_x", "local_y", "ele"])
def test_a_road_across_the_universe_is_refused(far: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "m.osm"
    file.write_text(OSM.replace(f'k="{name}" v="', f'k="{name}" v="{far}" was="', 1))
    with pytest.raises(InvalidValue, match=r"m\.osm: node 1 is .* allowed are 1e\+08 m"):
        read_lanelets(file)


def test_a_road_of_too_many_parts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.osm"
    file.write_text(OSM)
    with pytest.raises(InvalidValue, match=r"lanelet 20 is .* more than 1000000 parts"):
        read_lanelets(file, spacing=1e-6)


def _world_of(element: str) -> str:
    return WORLD.replace("</mvsim_world>", f"{element}</mvsim_world>")


BLOCK = '<block name="odd"><init_pose>9 9 0</init_pose><shape>{}</shape></block>'
PLANE = '<element class="vertical_plane"><x0>0</x0><y0>0</y0><x1>{}</x1><y1>0</y1></element>'


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("element", "message"),
    [
        (BLOCK.format("<pt>1e9 0</pt><pt>1e9 1</pt><pt>1000000001 1</pt>"), "odd: a part of"),
        (BLOCK.format("<pt>0 0</pt><pt>1e-12 0</pt><pt>2 1</pt><pt>0 2</pt>"), "odd: a part of"),
        (PLANE.format("1e9"), "at most 500000 m"),
        (PLANE.format("1e15"), "at most 500000 m"),
    ],
)
def test_a_world_of_sizes_that_cannot_collide_is_refused(
    element: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "w.xml").write_text(_world_of(element))
    with pytest.raises(InvalidValue, match=message):
        sp.World.load(tmp_path / "w.xml").step()
