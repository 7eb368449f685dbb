"""Numbers beyond what a float or the memory holds, wherever a user can give one."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import skidpad as sp
from skidpad import learn, view
from skidpad.cli import app
from skidpad.core import checks, files
from skidpad.errors import InvalidValue, SkidpadError
from skidpad.study.designs import Sobol
from skidpad.view.live import messages

CAR = sp.vehicles.commonroad_ks()
BICYCLE = sp.vehicles.kinematic_bicycle()
TASK = learn.tasks.race(sp.vehicles.commonroad_ks())
HUGE = 10**400
"""Beyond any float."""
MANY = 10**13
"""More than fits into any memory, times eight bytes."""
GAUSSIAN = {"mean": [HUGE], "std": [1.0]}


def fleet(**settings: Any) -> sp.Fleet[Any, Any, Any, Any, Any]:
    return sp.Fleet(CAR, 0.01, **settings)


def study(**given: Any) -> Any:
    given = {"runs": 2, "steps": 5, "seed": 1} | given
    return fleet().monte_carlo({"v": 1.0}, {"a": 0.0}, **given)


ENTRIES: dict[str, tuple[Callable[[], Any], str]] = {
    "dt": (lambda: sp.Simulator(CAR, HUGE), r"dt = 10\^400"),
    "substeps": (lambda: sp.Simulator(CAR, 0.01, substeps=HUGE), r"substeps = 10\^400"),
    "substeps of a fleet": (lambda: fleet(substeps=HUGE), r"substeps = 10\^400"),
    "threads": (lambda: fleet(threads=HUGE), r"threads = 10\^400"),
    "field of a state": (lambda: sp.Simulator(CAR, 0.01).reset(v=HUGE), r"State.v .*10\^400"),
    "negative": (lambda: sp.Simulator(CAR, 0.01).reset(v=-HUGE), r"State.v .*-10\^400"),
    "state as a list": (lambda: sp.Simulator(CAR, 0.01).reset([HUGE] * 5), "State takes 5 numbers"),
    "input as a list": (lambda: sp.Simulator(CAR, 0.01).step([HUGE, 0]), "u|Input"),
    "parameter": (lambda: sp.vehicles.two_track(m=HUGE), r"Params.m .*10\^400"),
    "steps": (lambda: sp.Simulator(CAR, 0.01).run({}, steps=HUGE), r"steps = 10\^400"),
    "many steps": (lambda: sp.Simulator(CAR, 0.01).run({}, steps=MANY), r"10000000000000"),
    "duration": (lambda: sp.Simulator(CAR, 0.01).run({}, duration=HUGE), r"duration = 10\^400"),
    "steps of a fleet": (
        lambda: fleet().rollout({"v": 1.0}, {"a": 0.0}, steps=HUGE),
        r"steps = 10\^400",
    ),
    "a batch": (
        lambda: fleet().rollout(np.broadcast_to(np.zeros(5), (MANY, 5)), {"a": 0.0}, steps=1),
        "vehicles in x0 = 10000000000000 takes 4e.05 GB",
    ),
    "a batch of objects": (
        lambda: fleet().rollout(np.array([[1, 1, 1, 1, HUGE]], dtype=object), {}, steps=1),
        "x0 must be an array of numbers",
    ),
    "parameter of a fleet": (
        lambda: fleet().rollout({"v": 1.0}, {}, steps=1, params={"l_f": [HUGE]}),
        "params",
    ),
    "parameters of many": (
        lambda: fleet().rollout(
            {"v": 1.0}, {}, steps=1, params={"l_f": np.broadcast_to(1.0, (MANY,))}
        ),
        "vehicles in params = 10000000000000 takes",
    ),
    "linearised state": (
        lambda: sp.linearise(CAR, CAR.State()._replace(x=HUGE), CAR.Input(), 0.01),
        r"State.x .*10\^400",
    ),
    "speed of a Bode plot": (lambda: view.plots.bode(BICYCLE, speed=HUGE), r"speed = 10\^400"),
    "loads of a tyre": (
        lambda: view.plots.tyre_curves(sp.tyres.get("robot"), loads=[HUGE]),
        r"loads = .1000",
    ),
    "runs": (lambda: study(runs=HUGE), r"runs = 10\^400"),
    "many runs": (lambda: study(runs=MANY), "runs = 10000000000000 takes 8e.04 GB"),
    "duration of runs": (lambda: study(steps=None, duration=HUGE), r"duration = 10\^400"),
    "mean": (lambda: sp.random.Gaussian(**GAUSSIAN), "mean"),
    "environments": (lambda: learn.Environments(TASK, HUGE), r"count = 10\^400"),
    "many environments": (lambda: learn.Environments(TASK, MANY), "count = 10000000000000 takes"),
    "design": (lambda: Sobol(HUGE), r"runs = 10\^400"),
    "wheels of Nmpc": (
        lambda: sp.control.Nmpc(CAR, dt=0.1, horizon=HUGE, Q={"y": 1.0}, R={"a": 1.0}),
        r"horizon = 10\^400",
    ),
    "message to the live server": (
        lambda: messages.parse(json.dumps({"type": "factor", "value": HUGE})),
        "factor.value",
    ),
    "steps of the live server": (
        lambda: messages.parse(json.dumps({"type": "step", "count": HUGE})),
        "step.count",
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_number_too_large_is_refused_by_name(name: str) -> None:
    call, wanted = ENTRIES[name]
    with pytest.raises(InvalidValue, match=wanted) as caught:
        call()
    assert len(str(caught.value)) < 400


PACKAGES = [
    *("", "control", "core", "export", "geometry", "geometry.maps", "integrate", "learn", "ros2"),
    *("learn.tasks", "random", "road", "run", "sensors", "study", "tyres", "view"),
    *(
        "study.manoeuvres",
        "study.logs",
        "study.identify",
        "vehicles",
        "view.plots",
        "view.recording",
        "world",
    ),
    *("compat.autoware", "compat.commonroad", "compat.truck"),
]
PLAIN = {"tyres.mounted"}
"""Equations: they take what arithmetic of Python takes."""


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public function and class with a huge number for each argument in turn; others are 1
    where they have no default, vehicles and tyres what they are."""
    usual: dict[str, Any] = {"vehicle": BICYCLE, "tyre": sp.tyres.get("robot"), "name": "x"}
    for package in PACKAGES:
        module = importlib.import_module(f"skidpad.{package}".strip("."))
        for name in getattr(module, "__all__", ()):
            one, place = getattr(module, name), f"{package}.{name}"
            if not callable(one) or (isinstance(one, type) and issubclass(one, Exception)):
                continue
            with contextlib.suppress(ValueError):  # no signature
                parameters = inspect.signature(one).parameters.values()
                named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
                given = {p.name: usual.get(p.name, 1.0) for p in named if p.default is p.empty}
                order = [p.name for p in named if p.kind is p.POSITIONAL_ONLY]
                for p, value in itertools.product(named, (HUGE, [HUGE])):
                    words = given | {p.name: value}
                    first = [words.pop(n) for n in order if n in words]
                    if place not in PLAIN:
                        yield f"{place}({p.name})", functools.partial(one, *first, **words)


def test_no_public_name_ends_in_an_overflow() -> None:
    found: dict[str, str] = {}
    for place, call in calls():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except (OverflowError, MemoryError) as error:
            if not isinstance(error, SkidpadError):
                found[place] = repr(error)
        except Exception:
            continue
    assert not found


@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "commonroad_ks", "--set", f"l_f={HUGE}"],
        ["test", "commonroad_ks", "--variants", str(HUGE), "--spread", "l_f=5%"],
        ["test", "commonroad_ks", "--manoeuvre", "step_steer", "--set", f"l_f={-HUGE}"],
        ["export", "c", "commonroad_ks", "--substeps", str(HUGE)],
        ["export", "c", "commonroad_ks", "--dt", str(HUGE)],
        ["export", "c", "commonroad_ks", "--queue", str(HUGE)],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_the_command_line_refuses_it_in_a_sentence(arguments: list[str], tmp_path: Path) -> None:
    answer = CliRunner().invoke(
        app, [*arguments, *(["--out", str(tmp_path)] * ("export" in arguments))]
    )
    assert answer.exit_code not in (0, 130)
    assert answer.exception is None or isinstance(answer.exception, (InvalidValue, SystemExit))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**400, "10^400"),
        (-(10**400), "-10^400"),
        (10**400 + 1, "about 10^400"),
        (10**400 - 1, "about 10^399"),
        (10**5000, "10^5000"),
        (12345678901234567890, "12345678901234567890"),
        (True, "True"),
        ([10**5000], "a list with a number of thousands of digits"),
    ],
    ids=["power", "negative", "more", "less", "longest", "short", "truth", "list"],
)
def test_huge_numbers_are_shown_short(value: Any, text: str) -> None:
    assert files.shown(value) == text


def test_counts_end_and_seeds_do_not() -> None:
    assert checks.whole("seed", HUGE, least=None) == HUGE
    assert checks.whole("count", 2**53) == 2**53
    with pytest.raises(InvalidValue, match="count = 9007199254740993 must be at most"):
        checks.whole("count", 2**53 + 1)
