"""A plant or a Program from a stranger: nothing that a kernel relies on is believed.

The digests of these files are right: they tell that a file is whole, not that it is meant well.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from compile.lanes_harness import lowered, traced
from skidpad import Program, ops, units
from skidpad.compile import program as operations
from skidpad.compile import trace
from skidpad.compile.lower import lower
from skidpad.compile.plant import Plant
from skidpad.compile.program import Instruction, Port
from skidpad.core import record
from skidpad.errors import InvalidValue, SkidpadError

PLANTS = Path(__file__).parents[1] / "data" / "plants"
Document = dict[str, Any]


class State(NamedTuple):
    x: units.m = 0.0
    v: units.m_s = 0.0


class Input(NamedTuple):
    a: units.m_s2 = 0.0
    brake: units.m_s2 = 0.0


class Params(NamedTuple):
    k: units.one = 1.0
    late: units.s = 0.02


class Outputs(NamedTuple):
    speed: units.m_s


def _slide() -> sp.Vehicle:
    model = sp.Model(
        name="slide",
        State=State,
        Input=Input,
        Params=Params,
        Outputs=Outputs,
        derivative=lambda x, u, w, p: State(x.v, p.k * (u.a - u.brake)),
        outputs=lambda x, u, w, p: Outputs(ops.sin(x.v)),
        dead_times={"brake": "late"},
    )
    return sp.VehicleFactory(model)()


SLIDE = _slide()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plants") / "slide.plant"
    cost = sp.Cost(terminal=lambda x, p: (x.x - p.k) ** 2)
    sp.Fleet(SLIDE, 0.01, "euler").save(path, cost=cost)
    return path.read_text("utf-8")


def programs_in(document: Document) -> Iterator[Document]:
    yield from (document["step"], document["outputs"])
    yield from (document["cost"][name] for name in ("adjoint", "terminal", "pullback"))


def sign(program: Document) -> None:
    """Give a Program of a file the digest of its content, as whoever changes it would."""
    content = {key: value for key, value in program.items() if key not in ("digest", "meta")}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    program["digest"] = hashlib.sha256(text.encode()).hexdigest()


def written(document: Document, folder: Path) -> Path:
    with contextlib.suppress(AttributeError, KeyError, TypeError):  # what is left is no Program
        for program in programs_in(document):
            sign(program)
    path = folder / "hostile.plant"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_signing_is_what_the_library_does(sound: str, tmp_path: Path) -> None:
    document = json.loads(sound)
    digests = [program["digest"] for program in programs_in(document)]
    loaded, dt = Plant.load(written(document, tmp_path))
    assert [program["digest"] for program in programs_in(document)] == digests
    assert (loaded.name, dt) == ("slide", 0.01)


def _shorter_port(document: Document) -> None:
    document["step"]["inputs"][0][1] += [f"more{k}" for k in range(1000)]
    document["step"]["code"].append(["input", [], [0, 1001]])
    document["step"]["results"][0][0] = len(document["step"]["code"]) - 1


def _more_outputs(document: Document) -> None:
    fields = [f"y{k}" for k in range(1000)]
    document["outputs"]["outputs"] = [["y", fields]]
    document["outputs"]["results"] = [[0] * len(fields)]


def _fewer_params(document: Document) -> None:
    document["records"]["Params"] = document["records"]["Params"][:1]
    document["params"] = document["params"][:1]


def _exchanged_ports(document: Document) -> None:
    inputs = document["step"]["inputs"]
    inputs[0], inputs[1] = inputs[1], inputs[0]


def _a_port_less(document: Document) -> None:
    del document["step"]["inputs"][-1]


def _a_result_less(document: Document) -> None:
    document["step"]["results"][0].pop()
    document["step"]["outputs"][0][1].pop()


def _long_adjoint(document: Document) -> None:
    document["cost"]["adjoint"]["outputs"][2][1] += ["more"] * 1000
    document["cost"]["adjoint"]["results"][2] += [0] * 1000


def _long_terminal(document: Document) -> None:
    document["cost"]["terminal"]["inputs"][2][1] += ["more"] * 1000


def _deep_record(document: Document) -> None:
    document["records"]["Disturbance"] = [[".".join("a" * 5000), "m", [1, 0, 0], 0.0, None, ""]]


def _changed(*path: Any, to: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        *above, last = path
        place: Any = document
        for key in above:
            place = place[key]
        place[last] = to

    change.__name__ = f"{'.'.join(map(str, path))} = {to!r:.30}"
    return change


HOSTILE = [
    *(_shorter_port, _more_outputs, _fewer_params, _exchanged_ports, _a_port_less, _a_result_less),
    *(_long_adjoint, _long_terminal, _deep_record),
    *(_changed("substeps", to=n) for n in (0, -1, 1.5, 2**40, "3", None, True)),
    *(_changed("dead_times", to=late) for late in ({"no": "late"}, {"brake": "no"}, [], {"a": 3})),
    _changed("dead_time_rule", to="sometimes"),
    *(_changed("params", 0, to=text) for text in ("nan", "inf", "much", 3)),
    *(_changed("dt", to=text) for text in ("nan", "-0x1p0", "0x0p0", None)),
    *(_changed("implicit", to=value) for value in (True, 1, None)),
    *(_changed(key, to=[]) for key in ("name", "integrator", "records", "step", "outputs")),
    *(_changed("step", "code", 0, to=entry) for entry in (["system", [], None], ["add", [], None])),
    *(_changed("step", "code", 3, 1, to=args) for args in ([900], [-1], [3], [True], ["0"], [0.0])),
    *(_changed("step", "results", 0, 0, to=k) for k in (-1, 10**6, True, 0.0, "0", None)),
    _changed("step", "precision", to="float64"),
    _changed("step", "inputs", 0, 0, to="x; system()"),
    _changed("step", "meta", to=[]),
    _changed("step", "meta", to={"policy": ["x"]}),
    _changed("records", "State", 0, 0, to="import"),
    _changed("records", "State", 0, 0, to="__class__"),
    _changed("records", "State", 0, 3, to="0"),
    _changed("records", "State", 0, 2, to=[1]),
    _changed("records", "State", 0, 4, to=[1, 0, False]),
    _changed("records", "State", to=[]),
    _changed("cost", to=[]),
    _changed("cost", "Reference", to=[["r", "m", [1, 0, 0], 0.0, None, ""]]),
]


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
def test_a_hostile_plant_is_refused(
    change: Callable[[Document], None], sound: str, tmp_path: Path
) -> None:
    document = json.loads(sound)
    change(document)
    assert json.dumps(document) != json.dumps(json.loads(sound))
    with pytest.raises(InvalidValue, match=r"hostile\.plant|dt"):
        sp.Fleet.load(written(document, tmp_path))


def mutate(value: Any, generator: random.Random) -> Any:
    """A JSON value with one part of it changed, dropped, doubled or exchanged."""
    value = copy.deepcopy(value)
    place: Any = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return value
        key = generator.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and generator.random() < 0.85:
            place = place[key]
            continue
        match generator.randrange(4):
            case 0 if isinstance(place, list):
                place.append(copy.deepcopy(place[key]))
            case 1:
                del place[key]
            case 2:
                place[key] = copy.deepcopy(place[generator.choice(keys)])
            case _:
                odd = [None, True, -1, 0, 1, 2, 7, 2**70, 1e308, "", "x", "nan", "0x1p3", [], {}]
                place[key] = generator.choice(odd)
        return value


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_what_is_not_refused_fits_together(seed: int, sound: str, tmp_path: Path) -> None:
    generator = random.Random(seed)
    document, passed = json.loads(sound), 0
    for _ in range(400):
        changed = mutate(document, generator)
        try:
            fleet = sp.Fleet.load(written(changed, tmp_path))
        except SkidpadError:
            continue
        passed += 1
        plant = fleet.plant
        kinds = (plant.State, plant.Input, plant.Disturbance, plant.Params)
        for port, kind in zip(plant.step.inputs, kinds, strict=False):
            assert port.fields == record.names(kind)
        assert plant.outputs.outputs[0].fields == record.names(plant.Outputs)
        if passed <= 5:
            states = fleet.rollout(np.zeros((3, 2)), np.zeros((4, 3, 2)))
            assert states.shape == (5, 3, 2)
    assert passed


def test_the_tables_have_every_operation_of_the_tracer() -> None:
    simple = set(trace._SIMPLE.values())  # pyright: ignore[reportPrivateUsage]
    assert set(operations.TRACED_OPS) == simple | {"const", "input", "select", "pow", "read"}


@pytest.mark.slow_cases("full_car.rk4", "two_track.rk4")
@pytest.mark.parametrize("file", sorted(PLANTS.glob("*.plant")), ids=lambda file: file.stem)
def test_plants_that_were_written_by_earlier_versions_are_sound(file: Path) -> None:
    assert Plant.load(file)[0].name


def _program(*code: Instruction, precision: str | None = None, **more: Any) -> Program:
    ports = (Port("x", ("a",)),), (Port("y", ("b",)),)
    return Program("f", *ports, code, ((len(code) - 1,),), precision, **more)


X, CALL = Instruction("input", (), (0, 0)), Instruction("call", (0,), (0, 1))
SAME = _program(X)
DOUBLE = _program(X, Instruction("add", (0, 0)))
LOOP = (X, Instruction("call", (0,), (0, 10**6)), Instruction("item", (1,), 0))
TWICE = Program(
    "g", DOUBLE.inputs, DOUBLE.outputs, (*LOOP[:1], Instruction("call", (0,), (0, 10**6)), LOOP[2]),
    ((2,),),
)  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [
        _program(X, CALL, functions=(DOUBLE,)),
        _program(X, CALL, Instruction("add", (0, 1)), functions=(DOUBLE,)),
        _program(X, CALL, Instruction("item", (1,), 1), functions=(DOUBLE,)),
        _program(X, CALL, Instruction("item", (0,), 0), functions=(DOUBLE,)),
        _program(X, CALL._replace(imm=(1, 1)), Instruction("item", (1,), 0), functions=(DOUBLE,)),
        _program(*LOOP[:1], LOOP[1]._replace(imm=(1, 10**6)), LOOP[2], functions=(DOUBLE, TWICE)),
        _program(X, LOOP[1]._replace(imm=(0, 10**12)), LOOP[2], functions=(SAME,)),
        _program(X, Instruction("const", (), float("nan"))),
        _program(X, Instruction("sin", (0,), "imm")),
        _program(X, Instruction("select", (0, 0, 0)), precision="float64"),
        _program(X, Instruction("lt", (0, 0)), precision="float64"),
        _program(X, Instruction("lt", (0, 0)), Instruction("add", (0, 1)), precision="float64"),
        _program(X, Instruction("testbit", (0,), 64), Instruction("select", (1, 0, 0)),
                 precision="float64"),
        _program(X, Instruction("testbit", (0,), 32), Instruction("select", (1, 0, 0)),
                 precision="float32"),
        _program(X, Instruction("sin", (0,)), precision="float64"),
    ],
)  # fmt: skip
def test_a_hostile_program_is_refused(program: Program, tmp_path: Path) -> None:
    program.save(tmp_path / "program.json")
    with pytest.raises(InvalidValue, match=r"program\.json"):
        Program.load(tmp_path / "program.json")


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_lowered_program_of_everything_is_sound(precision: str, tmp_path: Path) -> None:
    def everything(a: Any, b: Any) -> tuple[Any, ...]:
        angle = ops.atan2(a, b) + ops.asin(b) * ops.exp(a) - ops.log(b)
        return angle, ops.where(a < b, ops.tanh(a), ops.pow(b, 2.5)), ops.maximum(a, ops.sign(b))

    program = lowered(everything, 2, precision)
    program.save(tmp_path / "program.json")
    # Not the Programs: their constants have NaN among them.
    assert Program.load(tmp_path / "program.json").digest == program.digest


def test_long_chains_take_no_time_and_no_stack() -> None:
    """A chain of `max` of twice the same was looked at 2**n times, one of `neg` one frame each."""
    code = [Instruction("input", (), (0, 0))]
    code += [Instruction("max", (k, k)) for k in range(100)]
    code += [Instruction("neg", (k,)) for k in range(100, 3100)]
    code += [Instruction("max", (0, len(code) - 1)), Instruction("atan2", (0, 100))]
    lower(_program(*code), "float64")


def test_deep_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    for text in ("[" * 100_000, '{"a":' * 100_000, "9" * 10_000):
        file.write_text(text)
        for load in (Program.load, Plant.load):
            with pytest.raises(InvalidValue, match=r"deep\.json.*not a skidpad"):
                load(file)


def test_a_traced_program_of_two_ports_is_sound(tmp_path: Path) -> None:
    program = traced(lambda a: (a + 1.0, a * 2.0))
    program.save(tmp_path / "program.json")
    assert Program.load(tmp_path / "program.json") == program
