"""LEARNED_STEER_VEL: recordings of the upstream program, connections, and faulty sub-models."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from compat.autoware import sub_models
from skidpad.compat.autoware.learned import INTERFACE, LearnedMotion
from skidpad.errors import InvalidValue

DATA = Path(__file__).parents[2] / "data" / "autoware"
RECORDINGS = sorted(DATA.glob("LEARNED_STEER_VEL__*.npz"))
MODULE = "compat.autoware.sub_models"


def learned(*classes: str, period: float = 0.02, compat: str | None = None) -> LearnedMotion:
    count = len(classes)
    return LearnedMotion([MODULE] * count, [""] * count, classes, period=period, compat=compat)


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 9


@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_the_recordings_are_reproduced(file: Path, compat: str | None) -> None:
    with np.load(file) as data:
        meta = json.loads(str(data["meta"]))
        u, dt, expected = data["u"], data["dt"], data["out"]
    classes = meta["params"]["model_class_names"].split("|")
    model = learned(*classes, period=meta["params"]["queue_dt"], compat=compat)
    x, y, yaw, _, v_x, _, steer = meta["initial_state"]
    model.set_state(x, y, yaw, v_x, steer)
    got = [model.motion]
    for row, h in zip(u, dt, strict=True):
        model.set_input(row)
        model.step(h)
        got.append(model.motion)
    np.testing.assert_allclose(np.array(got), expected, rtol=1e-9, atol=1e-12)
    assert model.actuation_status() is None


def test_the_period_is_told_once_and_the_rest_only_with_a_parameter_path() -> None:
    sub_models.CALLS.clear()
    model = LearnedMotion([MODULE] * 2, ["", "net.npz"], ["Recorder"] * 2, period=0.025)
    assert sub_models.CALLS == [
        ("dtSet", 0.025),
        ("load_params", "net.npz"),
        ("reset",),
        ("dtSet", 0.025),
    ]
    sub_models.CALLS.clear()
    model.set_state(1.0, 2.0, 0.3, 4.0, steer=0.1)
    model.command(steer=0.2)
    model.step(0.01)
    assert sub_models.CALLS == [("forward", [0.2], [0.1])] * 2


def test_a_connection_takes_one_step_in_either_order() -> None:
    for classes in (("First", "Second"), ("Second", "First")):
        model = learned(*classes)
        model.set_input([0.0, 0.25])
        angles = []
        for _ in range(3):
            model.step(0.02)
            angles.append(model.motion.steer)
        assert angles == [0.0, 0.25, 0.25]


def test_the_later_of_two_writers_wins() -> None:
    for classes, expected in ((("Half", "SteerLag"), 0.0), (("SteerLag", "Half"), 0.5)):
        model = learned(*classes)
        model.step(0.02)
        assert model.motion.steer == expected


def test_setting_the_state_clears_every_other_signal() -> None:
    model = learned("Counter", "DriveLag")
    for _ in range(3):
        model.step(0.02)
    assert model.signals["COUNT"] == 3.0
    model.set_state(*model.motion[:4], steer=model.motion.steer)
    model.step(0.02)
    assert model.signals["COUNT"] == 4.0, "the state was set to what it was"
    model.set_state(5.0, 6.0, 0.7, 0.0, steer=0.1)
    assert model.motion[:4] == (5.0, 6.0, 0.7, 0.0)
    model.step(0.02)
    assert model.signals["COUNT"] == 1.0
    assert (model.motion.x, model.motion.yaw, model.motion.steer) == (5.0, 0.7, 0.1)


def test_a_change_too_small_to_be_one_from_outside_is_overwritten() -> None:
    model = learned("Counter")
    model.step(0.02)
    model.set_state(5e-7, 0.0, 0.0, 0.0)
    model.step(0.02)
    assert model.motion.x == 0.0
    assert model.signals["COUNT"] == 2.0


@pytest.mark.parametrize("velocity", [0.0, 3.0, -3.0])
def test_a_step_of_no_length(velocity: float) -> None:
    right, upstream = learned("DriveLag"), learned("DriveLag", compat="upstream")
    for model in (right, upstream):
        model.command(velocity=velocity)
        model.step(0.0)
    assert right.motion.a_x == 0.0
    assert math.isnan(upstream.motion.a_x) if velocity == 0.0 else math.isinf(upstream.motion.a_x)
    assert np.sign(velocity) == np.sign(np.nan_to_num(upstream.motion.a_x))
    # Everything else is the same, and the next step too: the command did not change any more.
    for model in (right, upstream):
        model.step(0.02)
    assert right.motion == upstream.motion
    assert right.motion.a_x == 0.0


def test_the_acceleration_is_that_of_the_command() -> None:
    model = learned("Kinematic", "SteerLag")  # nobody writes VX
    model.set_state(0.0, 0.0, 0.0, 4.0)
    for velocity, expected in ((5.0, 500.0), (5.0, 0.0), (4.5, -50.0)):
        model.command(velocity=velocity)
        model.step(0.01)
        assert model.motion.a_x == pytest.approx(expected, rel=1e-12)
    assert model.motion.v_x == 4.0
    model.set_state(0.0, 0.0, 0.0, 1.0, a_x=7.0)
    assert model.motion.a_x == pytest.approx(-50.0, rel=1e-12)


def answers() -> list[Any]:
    made: list[Any] = [
        [0.25, 3.0],
        (0.25, 3.0),
        np.array([0.25, 3.0], dtype=np.float32),
        np.array([[0.25, 3.0]]),
        [np.float64(0.25), np.array([3.0])],
    ]
    return made


@pytest.mark.parametrize("answer", answers(), ids=lambda a: type(a).__name__)
def test_what_forward_may_return(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sub_models.Answers, "answer", answer)
    model = learned("Answers")
    model.step(0.02)
    assert (model.motion.steer, model.motion.v_x) == (0.25, 3.0)


def test_forward_may_return_torch_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[0.25, 3.0]], requires_grad=True)
    for answer in (tensor, tensor * 1.0, [tensor[0, 0], tensor[0, 1]]):
        monkeypatch.setattr(sub_models.Answers, "answer", answer)
        model = learned("Answers")
        model.step(0.02)
        assert (model.motion.steer, model.motion.v_x) == (0.25, 3.0)


def test_forward_may_return_jax_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    jnp = pytest.importorskip("jax.numpy")
    for answer in (jnp.array([0.25, 3.0]), (jnp.array(0.25), jnp.array(3.0))):
        monkeypatch.setattr(sub_models.Answers, "answer", answer)
        model = learned("Answers")
        model.step(0.02)
        assert (model.motion.steer, model.motion.v_x) == (0.25, 3.0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.1], ("Answers", "returned 1 values", "STEER, VX")),
        ([0.1, 0.2, 0.3], ("Answers", "returned 3 values", "STEER, VX")),
        ([], ("Answers", "returned 0 values")),
        ([0.1, math.nan], ("Answers", "VX = nan")),
        ([math.inf, 0.2], ("Answers", "STEER = inf")),
        (None, ("Answers", "must return numbers", "None")),
        ("12", ("Answers", "must return numbers", "'12'")),
        ([0.1, {}], ("Answers", "must return numbers", "dict")),
    ],
)
def test_a_wrong_answer_is_named_and_changes_nothing(
    answer: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = learned("SteerLag", "Kinematic", "Counter", "Answers")
    model.set_state(1.0, 2.0, 0.3, 4.0, steer=0.1)
    model.set_input([5.0, 0.2])
    model.step(0.02)
    before, signals = model.motion, model.signals
    monkeypatch.setattr(sub_models.Answers, "answer", answer)
    model.command(velocity=6.0)
    with pytest.raises(InvalidValue) as caught:
        model.step(0.02)
    assert all(word in str(caught.value) for word in words)
    assert (model.motion, model.signals) == (before, signals)
    monkeypatch.undo()
    model.step(0.02)
    assert model.signals["COUNT"] == signals["COUNT"] + 1.0
    assert model.motion.a_x == pytest.approx(50.0), "the step that failed did not count"


def test_an_exception_of_a_sub_model_comes_through_with_its_name() -> None:
    model = learned("Raises")
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        model.step(0.02)
    assert any("Raises" in note for note in caught.value.__notes__)


def test_it_is_made_of_parameters_by_name() -> None:
    values = {
        "model_module_paths": [MODULE],
        "model_param_paths": [""],
        "model_class_names": ["Half"],
        "vel_lim": 50.0,
    }
    model = LearnedMotion.of(values, 0.02, "upstream")
    model.step(0.0)
    assert model.motion.steer == 0.5
    assert math.isnan(model.motion.a_x)
    with pytest.raises(InvalidValue, match="needs the parameters model_class_names"):
        LearnedMotion.of(values | {"model_class_names": None}, 0.02)


def test_a_file_may_name_modules_only_if_that_is_allowed(tmp_path: Path) -> None:
    trace = tmp_path / "imported"
    (tmp_path / "planted_sub_model.py").write_text(f"open({str(trace)!r}, 'w').close()")
    file = tmp_path / "p.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    vehicle_model_type: LEARNED_STEER_VEL\n"
        "    model_module_paths: [planted_sub_model]\n    model_param_paths: ['']\n"
        "    model_class_names: [SteerLag]\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        for arguments in ([file], ["LEARNED_STEER_VEL", file], ["LEARNED_STEER_VEL", [file, {}]]):
            with pytest.raises(InvalidValue, match=r"p\.yaml, line .*allow_import=True"):
                sp.PlanningSimulator(*arguments)
        with pytest.raises(InvalidValue, match=r"p\.yaml, line 5: .*allow_import=True"):
            sp.PlanningSimulator(file, model_module_paths=[MODULE], model_class_names=["SteerLag"])
        assert not trace.exists()
        own = {"model_module_paths": [MODULE], "model_class_names": ["SteerLag"]}
        sp.PlanningSimulator([file, own], model_param_paths=[""])
        assert not trace.exists()
        with pytest.raises(InvalidValue, match="is not a class of"):
            sp.PlanningSimulator(file, allow_import=True)
        assert trace.exists()


def test_unequal_lengths_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"module_paths 2, .*param_paths 3, .*names 1"):
        LearnedMotion([MODULE] * 2, [""] * 3, ["SteerLag"], period=0.02)
    with pytest.raises(InvalidValue, match="at least 1"):
        LearnedMotion([], [], [], period=0.02)
    with pytest.raises(InvalidValue, match="model_module_paths = 'math'"):
        LearnedMotion("math", [""], ["SteerLag"], period=0.02)


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("no_such_module", "SteerLag", ("model_module_paths[0]", "'no_such_module'")),
        ("", "SteerLag", ("model_module_paths[0]", "''")),
        (MODULE, "SteerLug", ("model_class_names[0]", "'SteerLug'", MODULE)),
        (MODULE, "CALLS", ("model_class_names[0]", "'CALLS'")),
        (MODULE, "NeedsArguments", ("NeedsArguments", "without arguments")),
        (MODULE, "NoForward", ("NoForward", "forward()")),
        (MODULE, "OneName", ("OneName", "get_state_names()", "'STEER'")),
        (MODULE, "Twice", ("Twice", "STEER", "more than once")),
    ],
)
def test_what_cannot_be_a_sub_model_is_named(
    module: str, name: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidValue) as caught:
        LearnedMotion([module], [""], [name], period=0.02)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("method", INTERFACE)
def test_every_method_of_the_interface_is_asked_for(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sub_models.SteerLag, method, None, raising=False)
    with pytest.raises(InvalidValue, match=rf"SteerLag .* has no method {method}\(\)"):
        learned("SteerLag")


def test_a_module_that_fails_while_it_is_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_sub_model.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidValue, match=r"'broken_sub_model' .* ZeroDivisionError"):
        LearnedMotion(["broken_sub_model"], [""], ["SteerLag"], period=0.02)
    assert "broken_sub_model" not in sys.modules


def test_a_signal_that_nobody_writes_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Typo reads 'STEER_DSE'"):
        learned("Typo")


def test_a_rejected_command_leaves_the_last_good_one() -> None:
    model = learned("SteerLag", "DriveLag")
    model.set_input([3.0, 0.3])
    for bad in (
        {"steer": math.nan},
        {"steer": "left"},
        {"velocity": math.inf},
        {"velocity": 9.0, "gear": 2.0},
    ):
        with pytest.raises(InvalidValue, match=list(bad)[-1]):
            model.command(**bad)
    with pytest.raises(InvalidValue, match="takes 2 numbers"):
        model.set_input([1.0, 2.0, 3.0])
    model.step(0.02)
    assert model.motion.steer == pytest.approx(0.02 / 0.3 * 0.3)
    assert model.motion.v_x == pytest.approx(0.02 / 0.5 * 3.0)


def test_states_steps_and_modes_that_cannot_be() -> None:
    model = learned("SteerLag")
    with pytest.raises(InvalidValue, match="YAW = nan"):
        model.set_state(1.0, 2.0, math.nan, 4.0)
    assert model.motion.x == 0.0
    for dt in (-0.01, math.nan, math.inf):
        with pytest.raises(InvalidValue, match="dt = "):
            model.step(dt)
    with pytest.raises(InvalidValue, match=r"period = 0\.0"):
        learned("SteerLag", period=0.0)
    with pytest.raises(InvalidValue, match=r"compat = 'autoware'.*upstream"):
        learned("SteerLag", compat="autoware")
