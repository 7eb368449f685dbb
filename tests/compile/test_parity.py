"""Every vehicle, every target: LLVM and C bit for bit, direct calls to 1e-12."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from compile.lanes_harness import LANES, PRECISIONS, canonical, runner
from skidpad import Program
from skidpad.compile import c, pipeline
from skidpad.compile.c import compile_shared, emit
from skidpad.compile.passes import scheduled
from skidpad.core import record
from skidpad.units import Allowed

NAMES = sp.vehicles.names()
CONTINUOUS = [name for name in NAMES if sp.vehicles.get(name).model.continuous]
SMALL = ("kinematic_bicycle", "four_wheel")
"""Vehicles of which every width is compared, and C as it is built for users.

Of the others one width, and C built without optimisation: large functions take gcc long, and what
it does to small ones it does to them as well. The slow tests have all of it.
"""
CASES = [
    pytest.param(n, p, marks=[pytest.mark.slow] if p == "float32" and n != SMALL[0] else [])
    for n, p in product(NAMES, PRECISIONS)
]
COUNT = 37
STEPS = dict.fromkeys(("formula_student", "commonroad_mb", "commonroad_std", "two_track"), "euler")
"""The method whose step is compared, where it is not RK4: gcc takes long for large functions."""


@pytest.fixture
def plain_c(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C of large vehicles is built without optimisation."""
    if name not in SMALL:
        monkeypatch.setattr(c, "FLAGS", tuple(f for f in c.FLAGS if not f.startswith("-O")))


def c_function(program: Program, folder: Path) -> Any:
    """The Program built by the C compiler, as a function of arrays (N, fields), one per port."""
    kind = {"float64": "double", "float32": "float"}[str(program.precision)]
    sizes = [len(p.fields) for p in program.inputs], [len(p.fields) for p in program.outputs]
    walk = [
        ", ".join(f"{side}[{k}] + {n} * i" for k, n in enumerate(counts)) or "0"
        for side, counts in zip(("x", "y"), sizes, strict=True)
    ]
    source = emit(program, "one") + (
        f"void many(const {kind}* const* x, {kind}* const* y, int64_t n) {{\n"
        "    for (int64_t i = 0; i < n; ++i) {\n"
        f"        const {kind}* in[] = {{{walk[0]}}};\n"
        f"        {kind}* out[] = {{{walk[1]}}};\n"
        "        one(in, out);\n    }\n}\n"
    )
    library = compile_shared(source, folder)

    def apply(*ports: np.ndarray) -> list[np.ndarray]:
        count = len(ports[0])
        given = [np.ascontiguousarray(p, program.precision) for p in ports]
        out = [np.empty((count, n), program.precision) for n in sizes[1]]
        pointers = [
            (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
            for arrays in (given, out)
        ]
        library.many(*pointers, ctypes.c_int64(count))
        return out

    return apply


def driving(vehicle: sp.Vehicle, count: int = COUNT) -> dict[str, np.ndarray]:
    """Random states, inputs, disturbances and parameters by port; some cars rest or reverse."""
    rng = np.random.default_rng(17)
    model = vehicle.model
    scales = {"x": 100.0, "y": 100.0, "yaw": 3.0, "v_x": 15.0, "v_y": 2.0, "omega": 1.0}
    # Of a car that lies on its side or its roof there are no numbers.
    scales |= {"roll": 0.2, "pitch": 0.2}

    def table(kind: type) -> np.ndarray:
        width = [
            scales.get(n, 0.4 if n == "steer" else 100.0 if n.startswith("tau") else 1.0)
            for n in record.names(kind)
        ]
        drawn = rng.uniform(-1.0, 1.0, (count, len(width))) * width
        ranges = [leaf.allowed or Allowed() for leaf in record.fields(kind)]
        return np.clip(drawn, [r.low for r in ranges], [r.high for r in ranges])

    x = table(model.State)
    x[:3, 3:] = 0.0
    start = x + 0.01 * table(model.State)
    calm = record.flatten(record.build(model.Disturbance))
    p = np.array(record.flatten(vehicle.params)) * rng.uniform(
        0.9, 1.0, (count, record.size(model.Params))
    )
    w = np.tile(np.array(calm, float), (count, 1))
    if w.shape[1]:
        w += rng.uniform(0.0, 0.2, w.shape)
    return {
        "x": x,
        "start": start,
        "u": table(model.Input),
        "w": w,
        "p": p,
        "dt": np.full((count, 1), 1e-3),
    }


def programs(name: str, precision: str) -> list[Program]:
    vehicle = sp.vehicles.get(name)()
    outputs = pipeline.outputs_program(vehicle, precision)
    if not vehicle.model.continuous:
        return [outputs]
    return [pipeline.derivative_program(vehicle, precision), outputs]


@pytest.mark.slow_cases(
    "brains2-float64",
    "commonroad_dynamic_bicycle-float64",
    "commonroad_ks-float64",
    "commonroad_kst-float64",
    "commonroad_st-float64",
    "single_track-float64",
    "four_wheel-float64",
    "kinematic_bicycle-float32",
    "kinematic_bicycle-float64",
)
@pytest.mark.usefixtures("plain_c")
@pytest.mark.parametrize(("name", "precision"), CASES)
def test_lanes_against_c(name: str, precision: str, tmp_path: Path) -> None:
    data = driving(sp.vehicles.get(name)())
    for program in programs(name, precision):
        ports = [data[p.name] for p in program.inputs]
        wanted = c_function(program, tmp_path)(*ports)[0]
        assert np.isfinite(wanted).all()
        for lanes in LANES if name in SMALL and "derivative" in program.name else (8,):
            got = runner(scheduled(program), lanes)(*ports)[0]
            assert canonical(got) == canonical(wanted), f"{program.name}, {lanes} lanes"


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name not in SMALL])
def test_every_width_against_optimised_c(name: str, precision: str, tmp_path: Path) -> None:
    vehicle = sp.vehicles.get(name)()
    data = driving(vehicle)
    step = pipeline.step_program(vehicle, STEPS.get(name, "rk4"), precision)
    for program in (*programs(name, precision), step):
        ports = [data[p.name][:, : len(p.fields)] for p in program.inputs]
        wanted = c_function(program, tmp_path)(*ports)[0]
        for lanes in LANES if "derivative" in program.name else (8,):
            got = runner(scheduled(program), lanes)(*ports)[0]
            assert canonical(got) == canonical(wanted), f"{program.name}, {lanes} lanes"


@pytest.mark.slow_cases(
    "brains2-float64",
    "commonroad_dynamic_bicycle-float64",
    "commonroad_ks-float64",
    "commonroad_kst-float64",
    "commonroad_st-float64",
    "four_wheel-float64",
    "kinematic_bicycle-float32",
    "kinematic_bicycle-float64",
    "single_track-float64",
)
@pytest.mark.filterwarnings("ignore:euler with dt = 0.001 s is unstable for 'commonroad_")
@pytest.mark.filterwarnings("ignore:euler with dt = 0.001 s is unstable for 'two_track'")
@pytest.mark.filterwarnings("ignore:euler with dt = 0.001 s is unstable for 'formula_student'")
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.001 s is unstable for 'brains2'")
@pytest.mark.usefixtures("plain_c")
@pytest.mark.parametrize(("name", "precision"), CASES)
def test_steps_against_c(name: str, precision: str, tmp_path: Path) -> None:
    vehicle = sp.vehicles.get(name)()
    program = pipeline.step_program(vehicle, STEPS.get(name, "rk4"), precision)
    data = driving(vehicle)
    data["start"] = data["x"]
    ports = [data[p.name][:, : len(p.fields)] for p in program.inputs]
    wanted = c_function(program, tmp_path)(*ports)[0]
    assert np.isfinite(wanted).all()
    fleet = sp.Fleet(
        vehicle, 1e-3, STEPS.get(name, "rk4"), precision=precision, lanes=8, substeps=1
    )
    got = fleet.rollout(data["x"], data["u"], params=data["p"], disturbances=data["w"], steps=1)[1]
    assert canonical(got) == canonical(wanted)


def test_an_implicit_step_against_c(tmp_path: Path) -> None:
    vehicle = sp.vehicles.kinematic_bicycle()
    program = pipeline.step_program(vehicle, "radau", "float64")
    data = driving(vehicle)
    data["dt"][:] = 1e-2
    ports = [data[p.name] for p in program.inputs]
    state, residual = c_function(program, tmp_path)(*ports)
    got_state, got_residual = runner(scheduled(program), 8)(*ports)
    assert canonical(got_state) == canonical(state)
    assert canonical(got_residual) == canonical(residual)


def by_floats(vehicle: sp.Vehicle, data: dict[str, np.ndarray]) -> np.ndarray:
    rows = []
    for k in range(COUNT):
        x, u, w, p = (_record(vehicle, n, data[n][k].tolist()) for n in ("x", "u", "w", "p"))
        rows.append(record.flatten(vehicle.derivative(x, u, w, p)))
    return np.array(rows, float)


def by_arrays(vehicle: sp.Vehicle, data: dict[str, np.ndarray]) -> np.ndarray:
    x, u, w, p = (_record(vehicle, n, list(data[n].T)) for n in ("x", "u", "w", "p"))
    columns = record.flatten(vehicle.derivative(x, u, w, p))
    return np.stack([np.broadcast_to(c, COUNT) for c in columns], axis=1)


def by_casadi(vehicle: sp.Vehicle, data: dict[str, np.ndarray]) -> np.ndarray:
    symbols = {n: ca.SX.sym(n, data[n].shape[1]) for n in ("x", "u", "w", "p")}
    records = (
        _record(vehicle, n, ca.vertsplit(s) if s.numel() else []) for n, s in symbols.items()
    )
    value = ca.vertcat(*record.flatten(vehicle.derivative(*records)))
    function = ca.Function("f", list(symbols.values()), [value])
    rows = zip(*(data[n] for n in symbols), strict=True)
    return np.array([function(*row).full().ravel() for row in rows])


def by_jax(vehicle: sp.Vehicle, data: dict[str, np.ndarray]) -> np.ndarray:
    import jax

    # Operation by operation: compiled as a whole, a large car takes XLA seconds.
    with jax.enable_x64(True):
        x, u, w, p = (_record(vehicle, n, list(jax.numpy.asarray(data[n].T))) for n in "xuwp")
        columns = record.flatten(vehicle.derivative(x, u, w, p))
        return np.stack([np.broadcast_to(c, COUNT) for c in columns], axis=1)


def _record(vehicle: sp.Vehicle, port: str, leaves: list[Any]) -> Any:
    model = vehicle.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    return record.unflatten(kinds[port], leaves)


@cache
def driven(name: str) -> tuple[sp.Vehicle, dict[str, np.ndarray], np.ndarray]:
    """A vehicle, how it is driven, and the compiled derivative there."""
    vehicle = sp.vehicles.get(name)()
    data = driving(vehicle)
    data["start"] = data["x"]
    program = pipeline.derivative_program(vehicle, "float64")
    return vehicle, data, runner(program, 8)(*(data[p.name] for p in program.inputs))[0]


DIRECT = [by_floats, by_arrays, by_casadi]
if importlib.util.find_spec("jax") is not None:
    DIRECT.append(by_jax)


@pytest.mark.parametrize(
    ("name", "directly"),
    [
        # JAX takes seconds for large models; `conformance` compares it with floats on each.
        pytest.param(n, f, marks=[pytest.mark.slow] if f is by_jax and n != SMALL[0] else [])
        for n, f in product(CONTINUOUS, DIRECT)
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_direct_calls_of_the_derivative(name: str, directly: Any) -> None:
    vehicle, data, compiled = driven(name)
    got = directly(vehicle, data)
    scale = np.maximum(np.abs(compiled), np.abs(compiled).max(axis=0))
    assert np.max(np.abs(got - compiled) / np.where(scale > 0.0, scale, 1.0)) <= 1e-12
