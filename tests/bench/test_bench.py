"""`skidpad bench` on a tiny budget: what it prints, not how fast anything is."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import skidpad
from skidpad import bench
from skidpad.bench import peers_jax as jax_device
from skidpad.bench import peers_jax as jax_scan
from skidpad.bench import timing, work
from skidpad.bench.timing import RATE, TIME, Entry, Measured, best_rate, environment, typical
from skidpad.cli import main

TINY = timing.Budget(
    vehicles=32,
    rk4_steps=20,
    radau_steps=4,
    checked=2,
    repeats=2,
    peer_seconds=0.001,
    weave=0.03,
    weave_repeats=1,
    fresh=1,
)
PATH = [str(Path(skidpad.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
NAMES = {
    "fleet.four_wheel.rk4.float64.threads1",
    "fleet.four_wheel.rk4.float32.threads1",
    "fleet.four_wheel.rk4.float64.threads2",
    "fleet.four_wheel.rk4.float32.threads2",
    "fleet.four_wheel.radau.float64.threads1",
    "gradient.four_wheel.float64.threads1",
    "step.four_wheel.rk4",
    "step.four_wheel.rk4.array",
    "step.four_wheel.rk4.keywords",
    "step.four_wheel.radau",
    "compile.four_wheel.cold",
    "compile.four_wheel.cached",
    "compile.four_wheel.fleet",
    "import",
    "import.simulator",
}


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    assert not stop.value.code


@pytest.fixture(
    scope="module", params=["without jax", pytest.param("with jax", marks=pytest.mark.slow)]
)
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What `skidpad bench core --json` prints, parsed: anything else on stdout would not parse.

    JAX, which takes longer than all others together, and processes of their own are measured in
    the slow tests.
    """
    all_of_it = request.param == "with jax"
    jax = "jax_once(size, 1)" if all_of_it else "'left out'"
    several = "several(actions, 1)" if all_of_it else "[[1.0] for _ in actions]"
    first_call = "core.first_call" if all_of_it else "lambda *_: 1.0"
    code = (
        "from skidpad import bench\n"
        "from skidpad.bench import core, timing\n"
        "from skidpad.bench import peers_jax as jax\n"
        # Each is a process.
        "several = core.interpreter_times\n"
        f"core.interpreter_times = lambda actions, times: {several}\n"
        f"core.first_call = {first_call}\n"
        # Once is enough: it is slow to start.
        "jax_once = jax.results\n"
        f"jax.results = lambda size, threads: {jax}\n"
        # Takes longer to compile than all the rest; measured in `test_gpu_group`.
        "jax.gradient = lambda *_: 'left out'\n"
        f"timing.FULL = timing.{TINY!r}\n"
        "bench.main('core', as_json=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(JAX_DISABLE_MOST_OPTIMIZATIONS="1"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [e for e in document["entries"] if e["name"] == name]
    return found


@pytest.mark.slow
def test_every_entry_is_there_with_a_positive_value_and_unit(document: dict[str, Any]) -> None:
    assert {e["name"] for e in document["entries"]} == NAMES
    assert len(document["entries"]) == len(NAMES)
    for found in document["entries"]:
        assert found["value"] > 0.0
        rate = found["name"].startswith(("fleet.", "gradient."))
        assert found["unit"] == ("steps/s" if rate else "s")


@pytest.mark.slow_cases("without jax")
def test_machine_and_versions_are_described(document: dict[str, Any]) -> None:
    assert {"cpu", "cores", "os", "python", "vector_bits"} <= document["machine"].keys()
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["vector_bits"] in (128, 256, 512)
    assert document["versions"]["skidpad"] == skidpad.__version__
    assert {"numpy", "scipy", "casadi", "llvmlite", "jax"} <= document["versions"].keys()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fleet.four_wheel.rk4.float64.threads1", {"numpy", "scipy", "casadi", "jax"}),
        ("fleet.four_wheel.rk4.float64.threads2", {"numpy", "scipy", "casadi", "jax"}),
        ("fleet.four_wheel.rk4.float32.threads1", {"numpy", "jax"}),
        ("fleet.four_wheel.radau.float64.threads1", {"scipy", "casadi"}),
        ("step.four_wheel.rk4", {"python", "scipy", "casadi", "casadi_buffer", "jax"}),
        ("step.four_wheel.rk4.keywords", {"python", "scipy", "casadi", "casadi_buffer", "jax"}),
        ("step.four_wheel.radau", {"scipy", "casadi"}),
    ],
)
def test_peers_come_with_value_ratio_and_error(
    document: dict[str, Any], name: str, expected: set[str]
) -> None:
    found = entry(document, name)
    assert expected <= found["peers"].keys() | found["absent"].keys()
    assert expected - {"jax"} <= found["peers"].keys()
    assert found["ratios"].keys() == found["peer_errors"].keys() == found["peers"].keys()
    assert found["error"] is not None
    for peer, value in found["peers"].items():
        assert value > 0.0
        assert found["peer_errors"][peer] is not None
        faster = found["value"] / value if found["unit"] == "steps/s" else value / found["value"]
        assert found["ratios"][peer] == pytest.approx(faster)


def test_everybody_solves_the_same_problem(document: dict[str, Any]) -> None:
    """RK4 by other means has the same truncation error, so the errors agree as well."""
    for name in ("fleet.four_wheel.rk4.float64.threads1", "step.four_wheel.rk4"):
        found = entry(document, name)
        for peer in found["peer_errors"].keys() - {"scipy"}:
            assert found["peer_errors"][peer] == pytest.approx(found["error"], rel=1e-3)
        assert found["error"] < 1e-2
        assert found["peer_errors"]["scipy"] < 1e-2
    radau = entry(document, "step.four_wheel.radau")
    assert radau["peer_errors"]["casadi"] == pytest.approx(radau["error"], rel=1e-2)
    assert 0.0 < radau["details"]["pose_and_velocity_error"] < 1e-3


def test_gradients_are_close_to_central_differences(document: dict[str, Any]) -> None:
    found = entry(document, "gradient.four_wheel.float64.threads1")
    assert found["error"] < 1e-5
    assert found["details"]["of_forward"] > 0.0
    assert found["absent"] == {"jax": "left out"}


def test_two_threads_are_set_against_one(document: dict[str, Any]) -> None:
    for precision in ("float64", "float32"):
        one, two = (entry(document, f"fleet.four_wheel.rk4.{precision}.threads{n}") for n in (1, 2))
        assert two["details"]["scaling"] == pytest.approx(two["value"] / one["value"])
        for peer in one["peers"]:
            assert two["peers"][peer] >= one["peers"][peer]


def test_an_unknown_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(skidpad.InvalidValue, match=r"group = 'cores' is unknown.*core"):
        bench.main("cores", as_json=True)


def test_the_options_choose_group_budget_and_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, timing.Budget]] = []

    def measure(group: str, size: timing.Budget, plants: Path | None) -> list[Entry]:
        asked.append((group, size))
        return [Entry("a.b", TIME, Measured(2e-6, 0.1, float("inf")))]

    monkeypatch.setattr(bench, "measure", measure)
    run("core", "--json", "--quick")
    (found,) = json.loads(capsys.readouterr().out)["entries"]
    assert (found["name"], found["value"], found["error"]) == ("a.b", 2e-6, None)
    run()
    assert "2.00 µs" in capsys.readouterr().out
    everything = [name for name, group in bench.GROUPS.items() if group.device == "cpu"]
    assert asked == [("core", timing.QUICK), *((name, timing.FULL) for name in everything)]


def test_a_missing_peer_is_absent_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_device, "find_spec", lambda name: None)
    jax_scan.results.cache_clear()
    assert jax_scan.results(TINY, 1) == "not installed"
    jax_scan.results.cache_clear()


def test_a_peer_that_fails_is_absent_with_its_last_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jax.py").write_text("raise ImportError('this jax is broken')")
    found_first = environment(PYTHONPATH=os.pathsep.join([str(tmp_path), *PATH]))
    monkeypatch.setattr(jax_device, "find_spec", lambda name: object())
    monkeypatch.setattr(jax_device, "environment", lambda **settings: found_first)
    jax_scan.results.cache_clear()
    assert jax_scan.results(TINY, 1) == "failed: ImportError: this jax is broken"
    jax_scan.results.cache_clear()


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_and_shows_peers_and_absences(columns: int) -> None:
    entries = [
        Entry(
            "fleet.four_wheel.rk4.float64.threads2",
            RATE,
            Measured(2.2e7, 0.01, 3e-6),
            {"numpy": Measured(1.1e6, 0.02, 3e-6), "slow": Measured(71.0, None, 1e-4)},
            {"jax": "not installed"},
            {"scaling": 1.94, "peers_with_one_thread": ["numpy"]},
        )
    ]
    console = Console(width=columns, record=True, file=io.StringIO())
    console.print(timing.table(entries))
    lines = console.export_text().splitlines()
    assert max(len(line) for line in lines) <= columns
    text = " ".join(" ".join(lines).split())
    assert "fleet.four_wheel.rk4.float64.threads2 22.0 M/s 1 % 3.0e-06" in text
    assert "times one thread 1.94" in text
    assert "numpy (with one thread) 1.10 M/s 2 % 20 3.0e-06" in text
    assert "slow 71.0 /s 309859 1.0e-04" in text
    assert "jax: not installed" in text


def test_ratio_is_above_one_where_skidpad_is_faster() -> None:
    peers = {"peer": Measured(4.0, 0.0)}
    assert Entry("rate", RATE, Measured(8.0, 0.0), peers).ratio("peer") == 2.0
    assert Entry("time", TIME, Measured(8.0, 0.0), peers).ratio("peer") == 0.5


def test_the_best_run_counts_for_rates_and_the_median_for_times() -> None:
    rate = best_rate(10.0, [2.0, 1.0, 4.0])
    assert rate.value == 10.0
    assert rate.spread == pytest.approx(1.0)
    assert typical([1.0, 2.0, 9.0]).value == 2.0
    assert typical([1.0]).spread is None


def test_the_work_is_the_same_in_every_call_and_random_between_vehicles() -> None:
    one, two = (work.fleet_work(64, work.RK4_DT, 10, 4) for _ in range(2))
    np.testing.assert_array_equal(one.u, two.u)
    assert len({tuple(row) for row in one.u}) == 64
    names = one.vehicle.State._fields  # type: ignore[attr-defined]
    assert (one.x0[:, names.index("v_x")] == work.SPEED).all()


def test_the_reference_solves_a_lag_as_the_formula_does() -> None:
    """Steering follows its target with the time constant t_steer, too slowly to saturate."""
    job = work.fleet_work(3, work.RK4_DT, 40, 3)
    job.u[:, 0] = (0.001, -0.002, 0.003)
    lag = job.vehicle.params.t_steer
    expected = job.u[:, 0] * (1.0 - math.exp(-40 * work.RK4_DT / lag))
    steer = job.vehicle.State._fields.index("steer")  # type: ignore[attr-defined]
    np.testing.assert_allclose(work.fleet_reference(job).end[:, steer], expected, rtol=1e-9)


def test_the_error_is_relative_to_the_scale_of_each_field() -> None:
    end = np.array([[100.0, 0.0, 1.0], [50.0, 0.0, -2.0]])
    reference = work.Reference(end, np.array([100.0, 0.0, 2.0]))
    off = end + np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.003]])
    assert reference.error(off) == pytest.approx(0.01)
    assert reference.error(end + np.array([0.0, 1e-3, 0.0])) == pytest.approx(1e-3)
    assert reference.distance(off, 3) == pytest.approx(1.0)


def test_the_scale_of_the_weave_is_taken_along_the_way() -> None:
    """The steering comes back through zero, so that its end says nothing about its size."""
    course = work.weave(1.02)
    steer = course.vehicle.State._fields.index("steer")  # type: ignore[attr-defined]
    reference = work.weave_reference(course)
    assert abs(reference.end[0, steer]) < 0.01
    assert 0.06 < reference.scale[steer] <= 0.08


@pytest.mark.parametrize("job", ["step", pytest.param("fleet", marks=pytest.mark.slow)])
def test_first_calls_are_timed_without_imports(job: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from skidpad.bench import fresh_job as f\n"
        "timed = f.JOBS[sys.argv[1]]\n"
        "def watched():\n"
        "    before = set(sys.modules)\n"
        "    timed()\n"
        "    print(*sorted(set(sys.modules) - before))\n"
        "f.JOBS[sys.argv[1]] = watched\n"
        "f.seconds_of(sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, job],
        env=environment(SKIDPAD_CACHE=str(tmp_path)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not [name for name in done.stdout.split() if name.startswith(("skidpad", "llvmlite"))]
    assert list(tmp_path.glob("*.o"))
