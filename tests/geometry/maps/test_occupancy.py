"""Occupancy grids of ROS: images by hand, so that every pixel is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from skidpad.errors import InvalidValue
from skidpad.geometry.maps.map import Map
from skidpad.geometry.maps.occupancy import Grid

SHADES = [[0, 254], [205, 254], [254, 100]]
"""Rows from the top: occupied free, unknown free, free unknown (occupancy 0.61)."""
YAML = "image: map.pgm\nresolution: 0.5\norigin: [-1.0, 2.0, 0.0]\nnegate: 0\n"
YAML += "occupied_thresh: 0.65\nfree_thresh: 0.196\n"


def written(folder: Path, image: bytes, text: str = YAML, name: str = "map.pgm") -> Path:
    (folder / name).write_bytes(image)
    (folder / "map.yaml").write_text(text, encoding="utf-8")
    return folder / "map.yaml"


def plain(shades: Any = SHADES, most: int = 255) -> bytes:
    rows = "\n".join(" ".join(map(str, row)) for row in shades)
    return f"P2\n# a comment\n{len(shades[0])} {len(shades)}\n{most}\n{rows}\n".encode()


def binary(shades: Any = SHADES) -> bytes:
    flat = bytes(value for row in shades for value in row)
    return f"P5 {len(shades[0])} {len(shades)} 255\n".encode() + flat


def grid_of(file: Path, **options: Any) -> Grid:
    grid = Map.load(file, **options).grid
    assert grid is not None
    return grid


@pytest.mark.parametrize("image", [plain(), binary()], ids=["P2", "P5"])
def test_pgm(tmp_path: Path, image: bytes) -> None:
    grid = grid_of(written(tmp_path, image))
    # The image is upside down: its last row is the lowest in y.
    assert grid.occupied.tolist() == [[False, False], [False, False], [True, False]]
    assert grid.unknown is not None
    assert grid.unknown.tolist() == [[False, True], [True, False], [False, False]]
    assert (grid.resolution, grid.origin) == (0.5, (-1.0, 2.0, 0.0))
    assert grid.at([[-0.75, 3.25], [-0.25, 3.25], [-0.75, 2.25]]).tolist() == [True, False, False]


def test_unknown_cells_can_be_obstacles(tmp_path: Path) -> None:
    grid = grid_of(written(tmp_path, plain()), unknown="occupied")
    assert grid.occupied.tolist() == [[False, True], [True, False], [True, False]]


def test_negate(tmp_path: Path) -> None:
    grid = grid_of(written(tmp_path, plain(), YAML.replace("negate: 0", "negate: 1")))
    assert grid.occupied.tolist() == [[True, False], [True, True], [False, True]]


def test_scale_knows_what_is_transparent(tmp_path: Path) -> None:
    pixels = np.array([[[0, 255], [0, 100]], [[128, 255], [255, 255]]], dtype=np.uint8)
    Image.fromarray(pixels, "LA").save(tmp_path / "map.png")
    text = YAML.replace("map.pgm", "map.png") + "mode: scale\n"
    (tmp_path / "map.yaml").write_text(text, encoding="utf-8")
    grid = grid_of(tmp_path / "map.yaml")
    assert grid.occupied.tolist() == [[False, False], [True, False]]
    assert grid.unknown is not None
    assert grid.unknown.tolist() == [[False, False], [False, True]]


def test_trinary_takes_opacity_for_a_colour(tmp_path: Path) -> None:
    # Opaque black is a quarter bright, and so occupied by 0.75; transparent black wholly.
    pixels = np.array([[[0, 255], [0, 0], [255, 255]]], dtype=np.uint8)
    Image.fromarray(pixels, "LA").save(tmp_path / "map.png")
    text = YAML.replace("map.pgm", "map.png").replace("0.65", "0.74")
    (tmp_path / "map.yaml").write_text(text, encoding="utf-8")
    assert grid_of(tmp_path / "map.yaml").occupied.tolist() == [[True, True, False]]
    (tmp_path / "map.yaml").write_text(text.replace("0.74", "0.76"), encoding="utf-8")
    assert grid_of(tmp_path / "map.yaml").occupied.tolist() == [[False, True, False]]


def test_raw_shades_are_per_cent(tmp_path: Path) -> None:
    image = plain([[0, 64, 65, 100, 101, 255]])
    grid = grid_of(written(tmp_path, image, YAML + "mode: raw\n"))
    assert grid.occupied.tolist() == [[False, False, True, True, False, False]]
    assert grid.unknown is not None
    assert grid.unknown.tolist() == [[False, False, False, False, True, True]]


def test_colours_palettes_and_16_bits(tmp_path: Path) -> None:
    colour = np.array([[[255, 0, 0], [255, 255, 255]]], dtype=np.uint8)
    Image.fromarray(colour, "RGB").save(tmp_path / "rgb.png")
    Image.fromarray(colour, "RGB").convert("P").save(tmp_path / "palette.png")
    Image.fromarray(np.array([[0, 65535]], dtype=np.uint16)).save(tmp_path / "deep.png")
    (tmp_path / "deep.pgm").write_bytes(plain([[0, 1023]], most=1023))
    options = {"resolution": 1.0, "occupied_thresh": 0.66}
    for name in ("rgb.png", "palette.png", "deep.png", "deep.pgm"):
        assert grid_of(tmp_path / name, **options).occupied.tolist() == [[True, False]], name


def test_numbers_as_ros_writes_them(tmp_path: Path) -> None:
    text = YAML.replace("resolution: 0.5", "resolution: 5e-2").replace("negate: 0", "negate: false")
    assert grid_of(written(tmp_path, plain(), text)).resolution == 0.05


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (YAML.replace("0.5\n", "0\n", 1), "resolution = 0.0 m must be finite and greater than 0"),
        (
            YAML.replace("0.5\n", "-0.1\n", 1),
            "resolution = -0.1 m must be finite and",
        ),
        (YAML.replace("0.5\n", ".nan\n", 1), "resolution = nan must be a finite number"),
        (YAML.replace("0.5\n", "fine\n", 1), "resolution = 'fine' must be a number"),
        (YAML.replace("resolution", "resolutoin"), "did you mean 'resolution'"),
        (YAML.replace("origin: [-1.0, 2.0, 0.0]\n", ""), "origin is missing"),
        (YAML.replace("[-1.0, 2.0, 0.0]", "[0, 0]"), "origin = [0, 0] must be three numbers"),
        (YAML.replace("[-1.0, 2.0, 0.0]", "[0, .inf, 0]"), "origin[1] = inf"),
        (YAML.replace("negate: 0", "negate: 2"), "negate = 2 must be 0 or 1"),
        (YAML.replace("0.65", "0.1"), "must increase from 0 to 1"),
        (YAML + "mode: binary\n", "mode = 'binary' is unknown; allowed are trinary, scale, raw"),
        (YAML.replace("map.pgm", "other.pgm"), "other.pgm cannot be read: No such file"),
        (YAML.replace("image: map.pgm", "image: 3"), "image = 3 must be the path of an image"),
        ("image: [", "line 1: expected the node content"),
        ("just text", "holds no map"),
    ],
)
def test_errors_name_the_file_and_the_entry(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, plain(), text)
    with pytest.raises(InvalidValue) as caught:
        Map.load(file)
    assert str(tmp_path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "image",
    [b"", b"not an image", binary()[:-3], b"P5 2 2 99999999\n....", b"P2\n2 2\n255\n1 2 3"],
)
def test_an_image_that_cannot_be_read(tmp_path: Path, image: bytes) -> None:
    with pytest.raises(InvalidValue, match=r"map\.pgm cannot be read as an image"):
        Map.load(written(tmp_path, image))


def test_a_broken_png(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (50, 50), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "whole.png")
    content = (tmp_path / "whole.png").read_bytes()
    for size in (10, 30, len(content) // 2, len(content) - 40):
        (tmp_path / "part.png").write_bytes(content[:size])
        with pytest.raises(InvalidValue, match=r"part\.png cannot be read as an image"):
            Map.load(tmp_path / "part.png", resolution=1.0)


def test_an_image_alone_needs_a_scale(tmp_path: Path) -> None:
    (tmp_path / "map.pgm").write_bytes(plain())
    with pytest.raises(InvalidValue, match="give resolution in m per pixel"):
        Map.load(tmp_path / "map.pgm")
    with pytest.raises(InvalidValue, match="scale is not an option"):
        Map.load(tmp_path / "map.pgm", resolution=1.0, scale=2)
    assert Map.load(tmp_path / "map.pgm", resolution=2.0).bounds == (0.0, 0.0, 4.0, 6.0)


def test_a_grid_can_be_turned() -> None:
    made = Map.from_grid([[0, 1]], resolution=1.0, origin=(10.0, 0.0, np.pi / 2))
    # x of the grid points along y of the world, and its y along -x.
    assert made.occupied([[9.5, 1.5], [9.5, 0.5], [10.5, 1.5]]).tolist() == [True, False, False]
    np.testing.assert_allclose(made.bounds, (9.0, 0.0, 10.0, 2.0), atol=1e-12)


@pytest.mark.parametrize(
    ("cells", "resolution", "message"),
    [
        ([[0, 1]], 0.0, "resolution = 0.0 m must be finite and greater than 0"),
        ([[0, 1]], float("nan"), "resolution = nan m must be finite"),
        ([[0, 2]], 1.0, "must be true or false, or 1 or 0"),
        ([[0.0, 0.5]], 1.0, "must be true or false, or 1 or 0"),
        ([0, 1], 1.0, "occupied has shape (2,)"),
        ([[]], 1.0, "occupied has shape (1, 0)"),
    ],
)
def test_cells_are_checked(cells: Any, resolution: float, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        Map.from_grid(np.array(cells), resolution=resolution)
    assert message in str(caught.value)
