"""`skidpad campaign`: from a file to tables, pages and files, stopped and gone on with."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import skidpad
from cli.campaign_commands import PLAN, in_a_folder_of_its_own, said
from skidpad.cli.output import warnings_as_notes
from skidpad.study import Study
from skidpad.study.campaign import rows_of
from skidpad.study.experiment import Resources
from skidpad.study.plan_file import campaign_of
from waiting import PATIENCE

SLOW = """
function: {call: "own_slow:wait", gives: [y], vectorised: false}
factors: {x: {range: [0, 1]}}
design: {random: 1000}
"""

SOURCE = str(Path(skidpad.__file__).parents[1])
EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/campaigns/*.yaml"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE, "NO_COLOR": "1"}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_a_folder_of_its_own(monkeypatch, tmp_path, columns=80)


def test_a_campaign_from_file_to_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """All commands one after the other; numbers are those of Python."""
    code, out, err = said(capsys, "check", "plan.yaml")
    assert (code, err) == (0, "")
    assert "16 runs" in out
    assert re.search(r"x0\.v_s +m/s +1 +5", out)
    assert re.search(r"way +m +number +s at the end", out)

    code, out, err = said(capsys, "run", "plan.yaml")
    assert (code, err) == (0, "")
    study = Study.open("skidpad-campaigns/plan")
    np.testing.assert_allclose(study["way"], 2.0 * study["x0.v_s"] + 1.0, rtol=1e-12)
    mean, median = study.mean("way"), study.quantile("way", 0.5)
    assert f"{mean.value:.4g} ± {0.5 * (mean.high - mean.low):.2g}" in out
    assert f"{median.value:.4g}" in out
    far = int(study["far"].sum())
    assert f"{far} of 16" in out
    assert f"{study.probability('far').low:.4g} to" in out
    assert study.digest() in "".join(out.split())
    assert "finished" in out
    assert "Whole runs kept" in out

    code, out, _ = said(capsys, "status", "skidpad-campaigns/plan")
    assert code == 0
    assert study.digest() in "".join(out.split())
    assert re.search(r"runs +16\n|runs +16 ", out)


def test_runs_that_were_listed_have_no_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace("range: [1, 5]", "steps: [1, 5, 5]").replace("{sobol: 16}", "grid")
    Path("grid.yaml").write_text(text)
    code, out, _ = said(capsys, "run", "grid.yaml", "--out", "runs")
    assert code == 0
    assert "No intervals: the runs of a grid were listed, not drawn." in out
    assert "±" not in out
    assert "confidence" not in out
    assert re.search(r"event +runs +share", out)
    assert re.search(r"far +1 of 5 +0\.2", out)


def test_of_a_design_that_converges_its_own_interval_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    design = "{converging: {column: way, width: 1.0, first: 20, most: 5000}}"
    Path("narrow.yaml").write_text(PLAN.replace("{sobol: 16}", design))
    assert "at most 5000 runs" in said(capsys, "check", "narrow.yaml")[1]
    code, out, _ = said(capsys, "run", "narrow.yaml", "--out", "runs")
    assert code == 0
    assert "±" not in out
    assert f"{Study.open('runs').outcome['low']:.4g}" in out


@pytest.mark.slow
def test_runs_that_failed_are_counted_as_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own_halves.py").write_text(
        "def half(a):\n    return {'y': a if a < 2.5 else float('nan'), 'high': a > 1.5}\n"
    )
    Path("fails.yaml").write_text(
        "function: {call: 'own_halves:half', gives: {y: {}, high: {kind: truth}}, "
        "vectorised: false}\nfactors: {a: [1, 2, 3, 4]}\ndesign: grid\n"
    )
    code, out, _ = said(capsys, "run", "fails.yaml", "--out", "runs", "--workers", "1")
    assert code == 0
    assert re.search(r"high +1 of 4 +0\.25", out)
    assert "2 failed, counted as not." in out


def test_json_is_the_same_in_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "run", "plan.yaml", "--out", "runs", "--json")
    assert code == 0
    summary = json.loads(out)
    study = Study.open("runs")
    assert summary["numbers"]["way"]["mean"]["value"] == study.mean("way").value
    assert summary["truths"]["far"]["value"] == study.probability("far").value
    assert summary["digest"] == study.digest()
    assert (summary["runs"], summary["most"], summary["failed"]) == (16, 16, 0)
    assert summary["finished"] is True
    state = json.loads(said(capsys, "status", "runs", "--json")[1])
    assert {name: summary[name] for name in state} == state
    plan = json.loads(said(capsys, "check", "plan.yaml", "--json")[1])
    assert plan["runs"] == plan["estimate"]["runs"] == 16


def test_replays_and_exports(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "run", "plan.yaml", "--out", "runs")[0] == 0
    study = Study.open("runs")
    code, out, _ = said(capsys, "replay", "runs", "5", "--out", "run.parquet")
    assert code == 0
    assert repr(float(study["way"][5])) in out
    assert parquet.read_table("run.parquet").column("s")[-1].as_py() == study["way"][5]
    for name in ("table.csv", "table.parquet"):
        code, out, _ = said(capsys, "export", "runs", name)
        assert (code, "16 runs" in out) == (0, True)
    table = parquet.read_table("table.parquet")
    assert table.column("way").to_pylist() == study["way"].tolist()
    assert table.schema.field("way").metadata[b"unit"] == b"m"
    lines = Path("table.csv").read_text().splitlines()
    assert lines[0] == '"run","x0.v_s","way","far","failed"'
    assert [float(line.split(",")[2]) for line in lines[1:]] == study["way"].tolist()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "nothing.yaml"), "nothing.yaml"),
        (
            ("run", "plan.yaml", "--engine", "spark"),
            "--engine spark must be one of local, cuda, ray",
        ),
        (("run", "plan.yaml", "--address", "auto"), "--address needs --engine ray"),
        (("run", "plan.yaml", "--shared"), "--shared needs --engine ray"),
        (("run", "plan.yaml", "--engine", "cuda", "--workers", "2"), "--workers needs"),
        (("run", "plan.yaml", "--chunk-seconds", "0"), "chunk_seconds = 0"),
        (("run", "plan.yaml", "--out", "full"), "full is not a campaign"),
        (("status", "nowhere"), "nowhere: there is no campaign"),
        (("resume", "nowhere"), "nowhere: there is no campaign"),
        (("export", "nowhere", "t.csv"), "nowhere: there is no campaign"),
        (("report", "nowhere"), "nowhere: there is no campaign"),
        (("replay", "nowhere", "-1"), "-1"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    Path("full").mkdir()
    Path("full/thesis.tex").write_text("years of work")
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert text in err
    assert sorted(path.name for path in Path().iterdir()) == ["full", "plan.yaml"]


@pytest.mark.parametrize(
    ("engine", "package", "what"),
    [("ray", "ray", 'engine="ray"'), ("cuda", "cupy", "--engine cuda")],
)
def test_an_engine_that_is_not_installed_leaves_no_folder(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    package: str,
    what: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = said(capsys, "run", "plan.yaml", "--engine", engine)
    assert code == 2
    assert err == (
        f'error: {what} needs {package}, which is not installed: pip install "skidpad[{engine}]"\n'
    )
    assert [path.name for path in Path().iterdir()] == ["plan.yaml"]


RAY = """
import os
from types import SimpleNamespace

loopback = os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") == "0"
address = "127.0.0.1" if loopback else "192.0.2.7"
services = SimpleNamespace(get_node_ip_address=lambda: address)
_private = SimpleNamespace(services=services)

def is_initialized():
    return False

def init(**options):
    raise RuntimeError(f"no cluster at {options['_node_ip_address']}")
"""
"""What matters here of Ray: it reads the variable while it is imported."""


def test_ray_is_imported_after_its_variable_is_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """tests/ray_cluster runs the same command with Ray itself."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "ray.py").write_text(RAY)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    for name in ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "")  # so that it is as before after the test
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    try:
        code, _, err = said(capsys, "run", "plan.yaml", "--engine", "ray")
    finally:
        sys.modules.pop("ray", None)
    assert (code, "no cluster at 127.0.0.1" in err) == (2, True), err


def test_what_a_folder_cannot_do_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """And leaves no file."""
    said(capsys, "run", "plan.yaml", "--out", "runs")
    for arguments, text in (
        (("replay", "runs", "99", "--out", "run.parquet"), "run = 99 is not in"),
        (("replay", "runs", "1", "--out", "run.doc"), "must end in .parquet or .html"),
        (("export", "runs", "table.xls"), "must end in .csv or .parquet"),
        (("export", "runs", "no/table.csv"), "there is no folder no"),
    ):
        code, _, err = said(capsys, *arguments)
        assert (code, text in err) == (2, True), err
    Path("plan.yaml").write_text(PLAN.replace("controls: {a_s: 0.5}", "controls: {a_s: 0.6}"))
    code, _, err = said(capsys, "run", "plan.yaml", "--out", "runs")
    assert code == 2
    assert "runs of a different plan" in err
    assert sorted(path.name for path in Path().iterdir()) == ["plan.yaml", "runs"]


@pytest.mark.slow
def test_failed_runs_are_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Exit status 0, and what is known of them."""
    (tmp_path / "own_fails.py").write_text(
        "def f(x):\n    if x > 2:\n        raise ValueError\n    return x\n"
    )
    (tmp_path / "fails.yaml").write_text(
        "function: {call: 'own_fails:f', gives: [y], vectorised: false}\n"
        "factors: {x: [1, 2, 3, 4]}\ndesign: grid\n"
    )
    code, out, _ = said(capsys, "run", "fails.yaml", "--workers", "1")
    assert code == 0
    assert re.search(r"failed +2 of 4 +0\.5$", out, re.MULTILINE)
    assert "1.5" in out


def test_chosen_runs_have_no_mean(capsys: pytest.CaptureFixture[str]) -> None:
    """But the design says what it found."""
    design = (
        "design: {refinement: {column: way, threshold: 7.1, first: {sobol: 8}, each: 4, most: 24}}"
    )
    Path("plan.yaml").write_text(PLAN.replace("design: {sobol: 16}", design))
    code, out, _ = said(capsys, "run", "plan.yaml")
    assert code == 0
    assert "No means: the runs of a refinement were chosen" in out
    assert re.search(r"crossed +yes", out)
    assert "gap" in out


def test_nothing_is_cut_off_at_40_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said(capsys, "run", "plan.yaml", "--out", "runs")
    wide = said(capsys, "run", "plan.yaml", "--out", "runs")[1]
    monkeypatch.setenv("COLUMNS", "40")
    narrow = said(capsys, "run", "plan.yaml", "--out", "runs")[1]
    numbers = re.compile(r"\d[\d.e+-]*\d")
    assert max(map(len, narrow.splitlines())) <= 40
    assert "…" not in narrow
    wanted = set(numbers.findall(wide[wide.index("metric") :]))
    assert wanted <= set(numbers.findall(narrow))


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes(capsys: pytest.CaptureFixture[str]) -> None:
    """One line without the place in the code; whoever makes errors of them still does."""
    with warnings_as_notes():
        warnings.warn("the step is long", UserWarning, stacklevel=1)
    assert capsys.readouterr() == ("", "note: the step is long\n")
    warnings.simplefilter("error")
    with warnings_as_notes(), pytest.raises(UserWarning, match="long"):
        warnings.warn("the step is long", UserWarning, stacklevel=1)


def slow(folder: Path) -> list[str]:
    """A plan whose first 100 runs are slow and whose others wait for a file named `hurry`."""
    sys.modules.pop("own_slow", None)  # that of another folder
    (folder / "own_slow.py").write_text(
        "import os, time\n\ncalls = 0\n\ndef wait(x):\n"
        "    global calls\n    calls += 1\n    while not os.path.exists('hurry'):\n"
        "        time.sleep(0.004)\n        if calls < 100:\n            break\n    return x\n"
    )
    (folder / "slow.yaml").write_text(SLOW)
    return [sys.executable, "-m", "skidpad", "campaign"]


def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, workers: str
) -> None:
    """Exit status 130 and one line; meanwhile others may look; resume does the rest."""
    command = [*slow(tmp_path), "run", "slow.yaml", "--workers", "1", "--chunk-seconds", "0.1"]
    pipe = subprocess.PIPE
    running = subprocess.Popen(command, stderr=pipe, stdout=pipe, text=True, env=ENVIRONMENT)
    folder = tmp_path / "skidpad-campaigns" / "slow"
    until(lambda: list(folder.glob("runs/*.parquet")) or running.poll() is not None)
    code, out, _ = said(capsys, "status", str(folder))
    assert (code, f"process {running.pid}" in out) == (0, True)
    code, _, err = said(capsys, "resume", str(folder))
    assert (code, "is being written by process" in err) == (2, True)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out) == (130, "")
    told = re.fullmatch(
        r"stopped: (\d+) of 1000 runs are in skidpad-campaigns.slow; go on with "
        r"skidpad campaign resume skidpad-campaigns.slow\n",
        err,
    )
    assert told, err
    assert 0 < int(told[1]) == Study.open(folder).runs < 1000
    Path("hurry").touch()
    code, out, _ = said(capsys, "resume", "skidpad-campaigns/slow", "--workers", workers)
    assert code == 0
    assert Study.open(folder).runs == 1000


def test_the_page_is_told_of_on_stderr_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "run", "plan.yaml", "--page", "--json")
    assert code == 0
    assert re.fullmatch(r"progress is at http://127\.0\.0\.1:\d+/[\w-]{16}/\n", err)
    assert json.loads(out)["runs"] == 16


@pytest.mark.slow_cases("slippery_corners.yaml")
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_are_plans(file: Path) -> None:
    """Those in examples/campaigns; their first runs are done, and end well."""
    campaign = campaign_of(file)
    choosing = campaign.design.rounds(len(campaign.factors), campaign.seed)
    rows = rows_of(campaign.factors, next(choosing), 0, 0, 3, campaign.seed)
    choosing.close()
    out = campaign.experiment.evaluate(rows, Resources())
    assert not out["failed"].any()
    assert set(out) == {one.name for one in campaign.columns()} - set(campaign.factors)
