"""The command line, run in this process."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import skidpad
from skidpad import Program, vehicles
from skidpad.cli import main
from skidpad.compile.pipeline import step_program
from skidpad.core import record


class Runner:
    """Calls the command line and gives exit code, stdout and stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        out, err = self.capsys.readouterr()
        return int(stop.value.code or 0), out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return Runner(capsys)


def test_version(run: Runner) -> None:
    assert run("--version") == (0, f"skidpad {skidpad.__version__}\n", "")


def test_models_lists_every_vehicle_within_80_columns(run: Runner) -> None:
    code, out, _ = run("models")
    assert code == 0
    first_words = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert set(vehicles.names()) <= first_words
    assert max(len(line) for line in out.splitlines()) <= 80


def test_models_name_shows_every_field_with_its_unit(run: Runner) -> None:
    for name in vehicles.names():
        code, out, _ = run("models", name)
        assert code == 0, name
        assert max(len(line) for line in out.splitlines()) <= 80, name
        lines = out.splitlines()
        rows = {tuple(line.split()[:2]) for line in lines}
        # Long names leave no room for columns: then the unit is on the line below.
        rows |= {(a.strip(), b.split()[1]) for a, b in pairwise(lines) if b.startswith("  unit ")}
        model = vehicles.get(name).model
        for kind in (model.State, model.Input, model.Params, model.Outputs, model.Disturbance):
            fields = {(leaf.name, leaf.unit.symbol) for leaf in record.fields(kind)}
            assert fields <= rows, f"{name}.{kind.__name__}"


def test_models_program_prints_the_step(run: Runner) -> None:
    vehicle = vehicles.kinematic_bicycle()
    code, out, _ = run("models", "kinematic_bicycle", "--program")
    assert code == 0
    assert out == f"{step_program(vehicle, integrator='rk4', precision=None)}\n"
    assert run("models", "kinematic_bicycle", "--lowered", "--integrator", "euler")[1] == (
        f"{step_program(vehicle, integrator='euler', precision='float64')}\n"
    )


def test_models_program_saves_what_can_be_loaded(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "step.json"
    code, out, _ = run("models", "kinematic_bicycle", "--precision", "float32", "--save", str(file))
    assert code == 0
    assert str(file) in out.replace("\n", "")
    vehicle = vehicles.kinematic_bicycle()
    assert Program.load(file) == step_program(vehicle, integrator="rk4", precision="float32")


def test_saving_into_a_missing_folder_is_one_line(run: Runner, tmp_path: Path) -> None:
    code, out, err = run(
        "models", "kinematic_bicycle", "--save", str(tmp_path / "none" / "step.json")
    )
    assert (code, out) == (2, "")
    assert err.startswith("error: cannot write ")


def test_an_unknown_vehicle_gets_a_suggestion(run: Runner) -> None:
    code, out, err = run("models", "four_whel")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert "did you mean 'four_wheel'?" in err


def test_a_program_needs_a_vehicle(run: Runner) -> None:
    code, _, err = run("models", "--program")
    assert code == 2
    assert err.startswith("error: ")


@pytest.mark.parametrize("option", ["integrator", "precision"])
def test_unknown_methods_and_precisions_are_named(run: Runner, option: str) -> None:
    code, _, err = run("models", "kinematic_bicycle", "--program", f"--{option}", "nonsense")
    assert code == 2
    assert err.startswith("error: ")
    assert "'nonsense'" in err
