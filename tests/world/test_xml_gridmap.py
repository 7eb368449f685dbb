"""Maps in the files of upstream's library, made byte by byte as its description has them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.maps.map import Map
from skidpad.geometry.maps.occupancy import read_gridmap
from world.worlds import refused, world

NAME = b"mrpt::maps::COccupancyGridMap2D"
CELLS = [[-100, 90, 0], [-2, -1, 1]]
"""From the lower left: occupied, free, unknown; occupied, and too near to 0 to tell, twice."""


def archive(
    cells: list[list[int]] = CELLS,
    *,
    name: bytes = NAME,
    version: int = 6,
    bits: int = 8,
    resolution: float = 0.05,
) -> bytes:
    head = struct.pack(
        "<BIIfffff",
        *(bits, len(cells[0]), len(cells)),
        *(-1.5, -1.5 + resolution * len(cells[0]), 2.0, 2.0 + resolution * len(cells)),
        resolution,
    )
    kind = "b" if bits == 8 else "h"
    flat = [cell * (1 if bits == 8 else 256) for row in cells for cell in row]
    if version < 3:
        flat = [cell + 128 for cell in flat]
        kind = kind.upper()
    data = struct.pack(f"<{len(flat)}{kind}", *flat)
    # What follows are settings, which do not matter here.
    return bytes([0x80 | len(name)]) + name + bytes([version]) + head + data + b"settings" + b"\x88"


def written(folder: Path, content: bytes, name: str = "m.gridmap") -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bits", [8, 16])
def test_a_map_is_read(tmp_path: Path, bits: int, packed: bool) -> None:
    content = archive(bits=bits)
    file = written(tmp_path, gzip.compress(content) if packed else content)
    grid = read_gridmap(file)
    assert grid.occupied.tolist() == [[True, False, False], [True, False, False]]
    assert grid.unknown is not None
    assert grid.unknown.tolist() == [[False, False, True], [False, True, True]]
    assert grid.resolution == 0.05
    assert grid.origin == pytest.approx((-1.5, 2.0, 0.0))


@pytest.mark.parametrize("name", ["m.gridmap", "m.gridmap.gz"])
def test_it_is_a_map_like_others(tmp_path: Path, name: str) -> None:
    found = Map.load(written(tmp_path, archive(version=7), name))
    assert found.name == "m"
    assert found.grid is not None
    assert found.grid.at([[-1.49, 2.01], [-1.44, 2.01]]).tolist() == [True, False]


def test_older_files_hold_probabilities(tmp_path: Path) -> None:
    grid = read_gridmap(written(tmp_path, archive([[-100, 90, 0]], version=2)))
    assert grid.occupied.tolist() == [[True, False, False]]


def test_the_oldest_header(tmp_path: Path) -> None:
    new = archive(name=b"COccupancyGridMap2D")
    length, rest = new[0] & 0x7F, new[1:]
    name, version, rest = rest[:length], rest[length], rest[length + 1 :]
    old = struct.pack("<I", length) + name + struct.pack("<i", version) + rest
    grid = read_gridmap(written(tmp_path, old))
    assert grid.occupied.sum() == 2


def test_a_world_takes_it_as_it_lies(tmp_path: Path) -> None:
    written(tmp_path, gzip.compress(archive()), "m.gridmap.gz")
    inside = (
        "<element class='occupancy_grid'><file>m.gridmap.gz</file><resolution>9</resolution>"
        "<restitution>0.2</restitution></element>"
    )
    scene = world(inside, folder=tmp_path)
    (element,) = scene.elements
    assert element.grid.resolution == 0.05
    assert element.restitution == 0.2
    assert scene.warnings == ()


BROKEN = {
    "empty": (b"", "ends too early"),
    "text": (b"not a map at all", "is not a map of MRPT's"),
    "cut in its head": (archive()[:40], "ends too early"),
    "cut in its cells": (archive()[:-12], "ends too early"),
    "another class": (archive(name=b"mrpt::maps::CSimplePointsMap"), "'mrpt::maps::CSimplePoints"),
    "version": (archive(version=8), "version 8; versions up to 7"),
    "bits": (archive(bits=9), "9 bits in a cell"),
    "resolution": (archive(resolution=0.0), "resolution of 0 m"),
    "cut archive": (gzip.compress(archive())[:-20], "cannot be read"),
    "broken archive": (b"\x1f\x8bnothing", "cannot be read"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_map_is_refused(tmp_path: Path, case: str) -> None:
    content, message = BROKEN[case]
    file = written(tmp_path, content)
    with pytest.raises(InvalidValue) as caught:
        read_gridmap(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_huge_map_is_refused_before_it_is_read(tmp_path: Path) -> None:
    content = archive()
    at = 2 + len(NAME) + 1
    huge = content[:at] + struct.pack("<II", 2**31, 2**31) + content[at + 8 :]
    with pytest.raises(InvalidValue, match="2147483648 x 2147483648 cells"):
        read_gridmap(written(tmp_path, huge))


def test_the_error_has_its_place(tmp_path: Path) -> None:
    written(tmp_path, b"nothing")
    message = refused(
        "<element class='occupancy_grid'><file>m.gridmap</file></element>", folder=tmp_path
    )
    assert "line 1" in message
    assert "<file>: " in message


def picture(folder: Path, inside: str = "", **options: Any) -> Any:
    # Two rows of three pixels, plain PGM.
    (folder / "m.pgm").write_text("P2\n3 2\n255\n0 255 255\n255 255 255\n")
    text = f"<element class='occupancy_grid'><file>m.pgm</file>{inside}</element>"
    (element,) = world(text, folder=folder, **options).elements
    return element.grid


def test_where_a_picture_lies(tmp_path: Path) -> None:
    # Without a pixel for the origin the map begins one cell from it, as upstream has it.
    assert picture(tmp_path).origin == (0.1, 0.1, 0.0)
    assert picture(tmp_path, compat="upstream").origin == (0.1, 0.1, 0.0)
    centred = "<resolution>0.5</resolution><centerpixel_x>1.5</centerpixel_x>"
    assert picture(tmp_path, centred).origin == (-0.75, 0.5, 0.0)
