"""Programs print, count, save and load; a damaged file is refused."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compile.lanes_harness import PRECISIONS, canonical, lowered, run, runner, traced
from skidpad import Program, ops, vehicles
from skidpad.compile import pipeline
from skidpad.compile.program import Instruction, Port
from skidpad.errors import InvalidValue


def wave(a: Any, b: Any) -> tuple[Any, ...]:
    return ops.sin(a) * 0.1 + b, ops.where(a < b, ops.pow(b, 2.5), a)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "wave.json"
    traced(wave, 2).save(path)
    return path


def test_text_of_a_traced_program() -> None:
    assert str(traced(lambda a, b: ops.sqrt(a * a + 0.1) / b, 2)).splitlines() == [
        "program f (traced, 4 operations)",
        "  in  in: a, b",
        "  v1 = in.a * in.a",
        "  v3 = v1 + 0.1",
        "  v4 = sqrt(v3)",
        "  v6 = v4 / in.b",
        "  out out.y0 = v6",
        "  # mul 1, add 1, sqrt 1, div 1",
    ]


def test_text_of_a_lowered_program_names_every_operation() -> None:
    program = lowered(wave, 2, "float32")
    lines = str(program).splitlines()
    assert lines[0] == f"program f (float32, {program.operations} operations)"
    assert sum(line.startswith("  v") for line in lines) == program.operations
    assert "  out out.y1 = " in "\n".join(lines)


def test_counts() -> None:
    program = traced(wave, 2)
    assert program.operations == sum(program.counts.values())
    assert program.counts == {"sin": 1, "mul": 1, "add": 1, "lt": 1, "pow": 1, "select": 1}


def test_held_values() -> None:
    x, p = Port("x", ("a",)), Port("p", ("k",))
    code = (
        Instruction("input", (), (0, 0)),
        Instruction("input", (), (1, 0)),
        Instruction("const", (), 2.0),
        Instruction("mul", (1, 2)),
        Instruction("add", (0, 3)),
    )
    program = Program("f", (x, p), (Port("y", ("b",)),), code, ((4,),))
    assert program.held == (False, True, True, True, False)


@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_round_trip(tmp_path: Path, precision: str | None) -> None:
    program = pipeline.step_program(vehicles.kinematic_bicycle(), "heun", precision)
    program = replace(program, meta={"dt": 0.01, "units": ["m", "m²"]})
    program.save(tmp_path / "step.json")
    again = Program.load(tmp_path / "step.json")
    assert again == program
    assert again.meta == program.meta
    assert again.digest == program.digest
    again.save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "step.json").read_bytes()


def test_awkward_constants_survive(tmp_path: Path) -> None:
    values = [math.inf, -math.inf, -0.0, 5e-324, 0.1, 1 / 3, 1.7976931348623157e308]
    code = tuple(Instruction("const", (), v) for v in values)
    names = tuple(f"c{k}" for k in range(len(values)))
    program = Program("c", (), (Port("y", names),), code, (tuple(range(len(values))),), "float64")
    program.save(tmp_path / "c.json")
    again = Program.load(tmp_path / "c.json")
    assert [i.imm.hex() for i in again.code] == [v.hex() for v in values]


def test_a_loaded_program_runs_with_the_same_bits(tmp_path: Path) -> None:
    program = lowered(wave, 2)
    program.save(tmp_path / "wave.json")
    columns = np.random.default_rng(5).uniform(0.1, 3.0, (2, 40))
    loaded = run(Program.load(tmp_path / "wave.json"), *columns, lanes=4)
    for one, other in zip(run(program, *columns, lanes=4), loaded, strict=True):
        assert canonical(one) == canonical(other)


def test_a_loaded_traced_program_lowers_to_the_same(tmp_path: Path) -> None:
    from skidpad.compile.lower import lower

    traced(wave, 2).save(tmp_path / "t.json")
    again = lower(Program.load(tmp_path / "t.json"), "float32")
    assert again.digest == lowered(wave, 2, "float32").digest


def test_the_digest_tells_programs_apart() -> None:
    program = traced(wave, 2)
    others = [
        lowered(wave, 2, "float64"),
        lowered(wave, 2, "float32"),
        replace(program, name="g"),
        replace(program, results=(program.results[0][::-1],)),
        replace(program, code=(*program.code, Instruction("const", (), 1.0))),
    ]
    assert len({p.digest for p in (program, *others)}) == len(others) + 1
    assert replace(program, meta={"note": "x"}).digest == program.digest


@pytest.mark.slow
def test_the_digest_is_the_same_in_other_processes() -> None:
    script = (
        "from skidpad import vehicles; from skidpad.compile import pipeline;"
        "print(pipeline.step_program(vehicles.four_wheel(), 'rk4', 'float64').digest)"
    )
    digests = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    here = pipeline.step_program(vehicles.four_wheel(), "rk4", "float64").digest
    assert digests == {here}


def test_a_file_that_is_not_a_program(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"[1, 2]", b"{}", b"\xff\xfe\x00", b'{"format": "other"}'):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(InvalidValue, match="not a skidpad program file"):
            Program.load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Program.load(tmp_path / "nothing.json")


def test_a_file_of_a_later_version(saved: Path) -> None:
    document = json.loads(saved.read_text("utf-8"))
    document["version"] = 99
    saved.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InvalidValue, match="version 99"):
        Program.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"code": [["sin", [5], None]]},
        {"code": [["input", [], [7, 0]]]},
        {"code": [["input", [], [0, -1]]]},
        {"code": [["input", [], None]]},
        {"code": [["const", [], "much"]]},
        {"code": 3},
        {"results": [[10_000, 0]]},
        {"results": []},
        {"results": [["a", "b"]]},
        {"outputs": [["y", ["only"]]]},
        {"precision": "float16"},
        {"precision": "float64"},
        {"inputs": None},
        {"name": "other"},
        {"digest": "0"},
    ],
    ids=lambda change: "-".join(f"{k}={v}" for k, v in change.items())[:40],
)
def test_a_damaged_file(saved: Path, change: dict[str, Any]) -> None:
    document = json.loads(saved.read_text("utf-8"))
    document.update(change)
    saved.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InvalidValue, match=r"damaged|unknown precision"):
        Program.load(saved)


@settings(max_examples=100)
@given(data=st.data())
def test_a_changed_byte_never_passes(data: st.DataObject, tmp_path_factory: Any) -> None:
    program = traced(wave, 2)
    path = tmp_path_factory.mktemp("damaged") / "p.json"
    program.save(path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255).filter(lambda b: b != content[at]))
    path.write_bytes(bytes(content))
    try:
        loaded = Program.load(path)
    except InvalidValue:
        return
    # The byte changed no meaning, such as 0x1p+0 to 0X1p+0, or it is in `meta`, which is notes.
    assert loaded == program


def test_runners_of_a_truncated_file(saved: Path) -> None:
    content = saved.read_bytes()
    for length in (1, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:length])
        with pytest.raises(InvalidValue, match="not a skidpad program file"):
            Program.load(saved)


def test_two_output_ports() -> None:
    program = lowered(lambda a: (a + 1.0, a * 2.0))
    split = replace(
        program,
        outputs=(Port("u", ("v",)), Port("w", ("z",))),
        results=tuple((r,) for r in program.results[0]),
    )
    first, second = runner(split, 4)(np.array([[1.0], [5.0]]))
    np.testing.assert_array_equal(first[:, 0], [2.0, 6.0])
    np.testing.assert_array_equal(second[:, 0], [2.0, 10.0])
