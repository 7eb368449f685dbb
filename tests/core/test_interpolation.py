"""Interpolation on grids: against SciPy, closed forms, and the definition of the spline."""

from __future__ import annotations

import itertools
from typing import Any

import casadi as ca
import jax
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, RegularGridInterpolator

from compile.lanes_harness import run
from skidpad import units as si
from skidpad.compile.lower import lower
from skidpad.compile.program import Port, Program
from skidpad.compile.trace import trace
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.ops import CubicGrid2, Grid1, Grid2, Grid3, called, grid, grid_type, interpolate, read
from skidpad.testing.equations import DimensionError, Quantity

RANDOM = np.random.default_rng(5)
SIZES = {1: (9,), 2: (9, 6), 3: (9, 6, 7)}
START, STEP = (-1.0, 2.0, 100.0), (0.5, 0.25, 3.0)
METHODS = ("linear", "cubic")


def made(axes: int, method: str = "linear") -> tuple[Any, list[np.ndarray], np.ndarray]:
    """A grid of random values, the coordinates of its points along every axis, and the values."""
    values = RANDOM.normal(size=SIZES[axes])
    points = [START[k] + STEP[k] * np.arange(SIZES[axes][k]) for k in range(axes)]
    return grid(values, start=START[:axes], step=STEP[:axes], method=method), points, values


def places(points: list[np.ndarray], count: int = 400, beyond: float = 0.0) -> list[np.ndarray]:
    """Random coordinates within the grid, or also beyond its edges."""
    spans = [beyond * (p[-1] - p[0]) for p in points]
    return [RANDOM.uniform(p[0] - s, p[-1] + s, count) for p, s in zip(points, spans, strict=True)]


def spline(points: list[np.ndarray], values: np.ndarray, at: list[np.ndarray]) -> np.ndarray:
    """Catmull-Rom along each axis in turn, by SciPy's Hermite spline with central slopes."""
    for k in reversed(range(len(points))):
        lines = np.moveaxis(values, k, 0)
        slopes = np.gradient(lines, points[k], axis=0)
        values = CubicHermiteSpline(points[k], lines, slopes, axis=0)(at[k])
        values = np.moveaxis(values, 0, k)
    return values


@pytest.mark.parametrize("axes", SIZES)
def test_linear_grids_are_those_of_scipy(axes: int) -> None:
    record_, points, values = made(axes)
    at = places(points)
    wanted = RegularGridInterpolator(points, values)(np.stack(at, axis=1))
    assert np.allclose(interpolate(record_, *at), wanted, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("axes", SIZES)
def test_cubic_grids_are_hermite_splines_with_central_slopes(axes: int) -> None:
    record_, points, values = made(axes, "cubic")
    for corner in np.stack(places(points, 40), axis=1):
        wanted = spline(points, values, [np.array([x]) for x in corner]).item()
        assert interpolate(record_, *corner.tolist()) == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", SIZES)
def test_they_pass_through_the_values_and_keep_edge_values_outside(axes: int, method: str) -> None:
    record_, points, values = made(axes, method)
    for index in itertools.product(*(range(0, n, 2) for n in SIZES[axes])):
        at = [p[i] for p, i in zip(points, index, strict=True)]
        assert interpolate(record_, *at) == pytest.approx(values[index], abs=1e-14)
    at = places(points, beyond=2.0)
    inside = [np.clip(x, p[0], p[-1]) for x, p in zip(at, points, strict=True)]
    assert np.allclose(interpolate(record_, *at), interpolate(record_, *inside), rtol=0, atol=1e-14)
    ends = [np.inf if k % 2 else -np.inf for k in range(axes)]
    corner = tuple(-1 if k % 2 else 0 for k in range(axes))
    assert interpolate(record_, *ends) == pytest.approx(values[corner], abs=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", SIZES)
def test_planes_are_exact_up_to_the_edges(axes: int, method: str) -> None:
    """Also for the spline, whose slope at an edge is that of the last two values."""
    points = [START[k] + STEP[k] * np.arange(SIZES[axes][k]) for k in range(axes)]
    slopes = np.array([2.0, -3.0, 0.25])[:axes]
    values = sum(s * x for s, x in zip(slopes, np.meshgrid(*points, indexing="ij"), strict=True))
    plane = grid(values, start=START[:axes], step=STEP[:axes], method=method)
    at = places(points)
    wanted = sum(s * x for s, x in zip(slopes, at, strict=True))
    assert np.allclose(interpolate(plane, *at), wanted, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_two_values_along_an_axis_are_enough(method: str) -> None:
    line = grid([3.0, 5.0], start=1.0, step=2.0, method=method)
    assert interpolate(line, np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0])).tolist() == [
        3.0,
        3.0,
        3.5,
        4.0,
        5.0,
        5.0,
    ]


@pytest.mark.parametrize("method", METHODS)
def test_nan_comes_out_as_nan(method: str) -> None:
    record_, _, _ = made(2, method)
    assert np.isnan(interpolate(record_, np.nan, 2.0))
    assert np.isnan(interpolate(record_, np.array([0.0, np.nan]), np.array([np.nan, 3.0]))).all()
    assert np.isnan(interpolate(record_._replace(values=1e6), 0.0, 2.5))


def symbolic(record_: Any, axes: int) -> tuple[Any, Any, Any]:
    """Coordinates, and value and slopes at them."""
    x = ca.SX.sym("x", axes)
    value = interpolate(record_, *ca.vertsplit(x))
    return x, value, ca.jacobian(value, x)


def test_slopes_of_a_linear_grid_are_differences_of_its_values() -> None:
    """Bilinear: d/dx is the difference of the rows, weighted along y."""
    record_, points, values = made(2)
    x, value, slopes = symbolic(record_, 2)
    found = ca.Function("f", [x], [value, slopes])
    for a, b in zip(*(p.tolist() for p in places(points, 50)), strict=True):
        i, j = int((a - START[0]) / STEP[0]), int((b - START[1]) / STEP[1])
        f, g = (a - points[0][i]) / STEP[0], (b - points[1][j]) / STEP[1]
        (v00, v01), (v10, v11) = values[i : i + 2, j : j + 2]
        wanted = [
            ((1 - g) * (v10 - v00) + g * (v11 - v01)) / STEP[0],
            ((1 - f) * (v01 - v00) + f * (v11 - v10)) / STEP[1],
        ]
        assert np.allclose(np.array(found([a, b])[1]).ravel(), wanted, rtol=1e-11, atol=1e-12)
    outside = found([START[0] - 1.0, 1e3])
    assert np.array(outside[1]).ravel().tolist() == [0.0, 0.0]


def test_slopes_of_a_cubic_grid_are_continuous_and_central_at_the_points() -> None:
    record_, points, values = made(1, "cubic")
    x, _, slope = symbolic(record_, 1)
    found = ca.Function("f", [x], [slope])
    wanted = np.gradient(values, points[0])
    tiny = 1e-9
    for k in range(1, len(values) - 1):
        sides = [float(found(points[0][k] + s)) for s in (-tiny, tiny)]
        assert sides == pytest.approx([wanted[k]] * 2, abs=1e-6)
    assert float(found(points[0][0] + tiny)) == pytest.approx(wanted[0], abs=1e-6)
    assert float(found(points[0][-1] - tiny)) == pytest.approx(wanted[-1], abs=1e-6)


@pytest.mark.slow_cases("3-cubic", "1-linear", "2-cubic", "3-linear")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", SIZES)
def test_jax_agrees_in_value_and_slope(axes: int, method: str) -> None:
    record_, points, _ = made(axes, method)
    x, value, slopes = symbolic(record_, axes)
    both = ca.Function("f", [x], [value, slopes])
    with jax.enable_x64(True):
        numpy = jax.numpy

        def at(place: Any, number: Any) -> Any:
            return interpolate(record_._replace(values=number), *place)

        traced = jax.jit(jax.value_and_grad(at))
        for place in np.stack(places(points, 5, beyond=0.2), axis=1):
            found, slope = traced(numpy.asarray(place), numpy.asarray(float(record_.values)))
            wanted = both(place)
            assert float(found) == pytest.approx(float(wanted[0]), abs=1e-12)
            assert np.allclose(slope, np.array(wanted[1]).ravel(), rtol=1e-11, atol=1e-11)


def program_of(kind: type, axes: int, *, by_call: bool = False) -> Program:
    ports = Port("p", (*record.names(kind), *"xyz"[:axes]))

    def function(p: tuple[Any, ...]) -> Any:
        record_, at = record.unflatten(kind, p[:-axes]), p[-axes:]
        return ((called(interpolate, record_, *at) if by_call else interpolate(record_, *at),),)

    return trace("f", function, (ports,), (Port("y", ("value",)),))


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", SIZES)
def test_compiled_in_lanes(axes: int, method: str, precision: str) -> None:
    record_, points, _ = made(axes, method)
    at = places(points, 37, beyond=0.2)
    columns = [*(np.full(37, value) for value in record_), *at]
    program = lower(program_of(type(record_), axes), precision)
    alone = run(program, *columns)[0]
    for lanes in (4, 16):
        assert run(program, *columns, lanes=lanes)[0].tobytes() == alone.tobytes()
    rounding = 1e-12 if precision == "float64" else 1e-4
    assert np.allclose(alone, interpolate(record_, *at), rtol=0.0, atol=rounding)


def test_a_grid_is_an_argument_of_a_kernel_that_is_called() -> None:
    program = program_of(CubicGrid2, 2, by_call=True)
    assert [f.name for f in program.functions] == ["interpolate"]
    record_, points, _ = made(2, "cubic")
    at = places(points, 9)
    columns = [*(np.full(9, value) for value in record_), *at]
    found = run(lower(program, "float64"), *columns)[0]
    assert np.allclose(found, interpolate(record_, *at), rtol=0.0, atol=1e-13)


def test_a_bilinear_patch_reads_four_values_and_a_cubic_one_sixteen() -> None:
    assert program_of(Grid2, 2).counts["read"] == 4
    assert program_of(CubicGrid2, 2).counts["read"] == 16


def test_counts_and_numbers_of_arrays_have_no_slope() -> None:
    """Of the leaves of a record only start and step move the value."""
    p = ca.SX.sym("p", 4)
    value = interpolate(Grid1(*ca.vertsplit(p)), 0.3)
    outside = interpolate(Grid1(*ca.vertsplit(p)), 100.0)
    record_, _, _ = made(1)
    inside = np.array(ca.Function("f", [p], [ca.jacobian(value, p)])(list(record_))).ravel()
    beyond = np.array(ca.Function("f", [p], [ca.jacobian(outside, p)])(list(record_))).ravel()
    assert inside[[0, 3]].tolist() == [0.0, 0.0]
    assert (inside[1:3] != 0.0).all()
    assert beyond.tolist() == [0.0] * 4


def test_units_are_those_of_the_class() -> None:
    kind = grid_type(1, "cubic", (si.N, si.m))
    assert kind is grid_type(1, "cubic", (si.N, si.m))
    assert [str(leaf.unit) for leaf in record.fields(kind)] == ["N", "m", "m", "1"]
    plain = grid([1.0, 2.0, 4.0], method="cubic", units=(si.N, si.m))
    assert type(plain) is kind
    leaves = zip(plain, record.fields(kind), strict=True)
    measured = kind(*(Quantity(v, leaf.unit.dimension) for v, leaf in leaves))
    force = interpolate(measured, Quantity(1.0, (1.0, 0.0, 0.0)))
    assert (force.value, force.dimension) == (2.0, (1.0, 1.0, -2.0))
    with pytest.raises(DimensionError):
        interpolate(measured, Quantity(1.0, (0.0, 0.0, 1.0)))
    with pytest.raises(DimensionError):
        read(measured.values, Quantity(1.0, (1.0, 0.0, 0.0)))


def test_classes_by_axes_and_method() -> None:
    for axes, linear in ((1, Grid1), (2, Grid2), (3, Grid3)):
        assert type(made(axes)[0]) is linear is grid_type(axes)
        assert issubclass(grid_type(axes, "cubic"), linear)
        assert record.names(grid_type(axes, "cubic")) == record.names(linear)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"values": 3.0}, "shape"),
        ({"values": [1.0]}, "shape"),
        ({"values": np.zeros((2, 2, 2, 2))}, "shape"),
        ({"values": np.zeros((2, 1))}, "shape"),
        ({"values": ["a", "b"]}, "numbers"),
        ({"values": np.zeros((2, 2)), "start": (0.0, 1.0, 2.0)}, "start"),
        ({"values": np.zeros(2), "step": 0.0}, "step_0 = 0"),
        ({"values": np.zeros(2), "step": -1.0}, "step_0 = -1"),
        ({"values": np.zeros(2), "start": np.nan}, "start_0 = nan"),
        ({"values": np.zeros(2), "method": "spline"}, "method"),
        ({"values": np.zeros(2), "units": (si.m,)}, "units has 1"),
    ],
)
def test_what_cannot_be_a_grid_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        grid(**arguments)


def test_coordinates_must_fit_the_axes() -> None:
    with pytest.raises(InvalidValue, match="Grid2 takes 2 coordinates, got 1"):
        interpolate(made(2)[0], 1.0)
    with pytest.raises(InvalidValue, match="axes = 4"):
        grid_type(4)
