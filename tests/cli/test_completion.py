"""What a shell is answered when the tabulator is pressed, over the protocol that it speaks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from skidpad import bench, demo, tyres, vehicles
from skidpad.cli import options
from skidpad.cli.options import vehicle_of
from skidpad.errors import InvalidValue
from skidpad.study import manoeuvres
from waiting import PATIENCE

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = {"casadi", "jax", "llvmlite", "matplotlib", "numba", "numpy", "rich", "scipy"}
OTHERS = ("zsh", "fish", "powershell", "pwsh")
QUESTIONS = (
    ("bash", "skidpad models commonroad_k"),
    ("bash", "skidpad html --drive f"),
    ("bash", "skidpad export fmu f"),
    ("bash", "skidpad tyre r"),
    ("bash", "skidpad mod"),
    *((shell, "skidpad mod") for shell in OTHERS),
    ("bash", "skidpad run f"),
    ("bash", "skidpad test two_track : s"),
    ("zsh", "skidpad html f"),
)
"""Shells and unfinished commands, those first that are answered with the fewest modules."""
TELLING = """
import io, json, os, sys
from contextlib import redirect_stdout
from skidpad.cli import main
heavy, questions = json.loads(sys.argv[1])
told = []
for asked in questions:
    os.environ.update(asked)
    with redirect_stdout(io.StringIO()) as out:
        try:
            main([])
        except SystemExit as end:
            assert not end.code, end.code
    told.append((out.getvalue().splitlines(), [name for name in heavy if name in sys.modules]))
print(json.dumps(told))
"""
"""Runs the command line and says which of some modules it has loaded by then."""


def environment(shell: str, line: str) -> dict[str, str]:
    """By which a shell asks for an unfinished command."""
    words = line.split(" ")
    return {
        "_SKIDPAD_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1],
    }


@cache
def answers() -> dict[tuple[str, str], tuple[list[str], set[str]]]:
    """Of one process to all questions: to start one takes longer than to answer."""
    asked = [environment(*question) for question in QUESTIONS]
    run = subprocess.run(
        [sys.executable, "-c", TELLING, json.dumps([sorted(HEAVY), asked])],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr
    told = [(lines, set(loaded)) for lines, loaded in json.loads(run.stdout)]
    return dict(zip(QUESTIONS, told, strict=True))


def answered(shell: str, line: str) -> tuple[list[str], set[str]]:
    """Lines that a shell gets for an unfinished command, and the heavy modules it took."""
    return answers()[shell, line]


@pytest.mark.parametrize("shell", ["bash", *OTHERS])
def test_commands_are_completed_in_every_shell_without_anything_heavy(shell: str) -> None:
    lines, loaded = answered(shell, "skidpad mod")
    assert len(lines) == 1
    assert "models" in lines[0]
    # The table of zsh, fish and PowerShell also says what a command does.
    assert loaded <= {"rich"}


def test_vehicles_are_completed_without_loading_them() -> None:
    lines, loaded = answered("bash", "skidpad models commonroad_k")
    assert lines == ["commonroad_kinematic_bicycle", "commonroad_ks", "commonroad_kst"]
    assert not loaded


def test_of_what_can_be_run_demos_come_first() -> None:
    lines, _ = answered("bash", "skidpad run f")
    assert lines == ["fan", "formula_student", "four_wheel", "full_car"]


@pytest.mark.parametrize("command", ["html --drive", "export fmu"])
def test_vehicles_are_completed_wherever_one_is_named(command: str) -> None:
    assert answered("bash", f"skidpad {command} f") == (
        ["formula_student", "four_wheel", "full_car"],
        set(),
    )


def test_files_are_left_to_the_shell_where_a_recording_is_asked_for() -> None:
    assert answered("zsh", "skidpad html f")[0] == ["_files"]


def test_tyres_are_completed() -> None:
    assert answered("bash", "skidpad tyre r") == (["race_slick", "robot"], set())


def test_parameter_sets_are_completed_behind_the_colon() -> None:
    sets = ["two_track:sports", "two_track:suv", "two_track:small_scale"]
    assert options.vehicles_and_sets("two_track:s") == sets
    # Bash takes the colon as a word of its own.
    assert answered("bash", "skidpad test two_track : s")[0] == ["sports", "suv", "small_scale"]


def test_the_sets_written_down_are_those_there_are() -> None:
    for name in options.VEHICLES:
        try:
            vehicle_of(f"{name}:none")
        except InvalidValue as error:
            _, _, allowed = str(error).partition("Allowed are ")
        else:
            allowed = "any"
        sets = ", ".join(options.SETS) if name in options.WITH_SETS else ""
        assert allowed == sets, name


def test_the_names_written_down_are_those_there_are() -> None:
    # Other tests of this process may have registered vehicles of their own.
    own = [name for name in vehicles.names() if hasattr(vehicles, name)]
    assert list(options.VEHICLES) == own
    assert options.COMMAND_DRIVEN == vehicles.COMMAND_DRIVEN
    assert list(options.MANOEUVRES) == manoeuvres.names()
    assert list(options.TYRES) == list(tyres.names())
    assert options.bench_groups("") == list(bench.GROUPS)
    assert [name for name, _ in options.run_targets("")][: len(demo.DEMOS)] == list(demo.DEMOS)
    assert options.manoeuvre_names("slalom") == ["slalom_18_m", "slalom_36_m"]
    assert options.vehicle_choices("LEARNED") == ["LEARNED_STEER_VEL"]


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    """The script that `--show-completion` prints, in the shell it is for."""
    program = tmp_path / "skidpad"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m skidpad "$@"\n')
    program.chmod(0o755)
    typed = """
eval "$(_SKIDPAD_COMPLETE=source_bash skidpad)"
complete -p skidpad
COMP_WORDS=(skidpad test two_track --manoeuvre hill_); COMP_CWORD=4
_skidpad_completion skidpad
printf '%s\\n' "${COMPREPLY[@]}"
"""
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "--norc", "-c", typed],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "complete -o default -F _skidpad_completion skidpad",
        "hill_hold",
        "hill_start",
    ]
