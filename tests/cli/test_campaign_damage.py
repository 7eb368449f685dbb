"""`skidpad campaign` on damaged folders: what is missing is told, and how to have it again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skidpad.cli import main

pytestmark = pytest.mark.filterwarnings("always::skidpad.campaigns.run_table.DamagedPart")

PLAN = """
name: rolling
drive:
  vehicle: double_integrator
  dt: 0.1
  duration: 2
  controls: {a_s: 0.5}
  metrics: {way: {last: s}}
factors:
  x0.v_s: {range: [1, 5]}
design: {sobol: 16}
keep: {highest: {way: 2}}
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without colours, in a folder of its own."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "plan.yaml").write_text(PLAN)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    with pytest.raises(SystemExit) as stop:
        main(["campaign", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def lines(text: str, words: str) -> int:
    return sum(words in line for line in text.splitlines())


def test_a_part_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "run", "plan.yaml", "--out", "runs")
    for part in Path("runs/runs").iterdir():
        part.unlink()
    code, out, err = said(capsys, "status", "runs")
    assert (code, err) == (0, "")
    assert "16 runs missing: skidpad campaign resume does them again" in out
    assert "finished" not in out
    code, out, _ = said(capsys, "resume", "runs")
    assert code == 0
    assert lines(out, "finished") == 1


def test_a_part_with_other_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    _, before, _ = said(capsys, "run", "plan.yaml", "--out", "runs")
    (part,) = Path("runs/runs").iterdir()
    data = bytearray(part.read_bytes())
    data[40:100] = bytes(byte ^ 0xA5 for byte in data[40:100])
    part.write_bytes(data)
    code, out, err = said(capsys, "status", "runs")
    assert (code, err) == (0, "")
    assert "16 runs missing" in out
    assert lines(out, "16 runs of it count as missing") == 1
    code, _, err = said(capsys, "report", "runs")
    assert code == 0
    assert lines(err, "note: ") == len(err.splitlines()) == 1
    code, out, err = said(capsys, "resume", "runs")
    assert code == 0
    assert lines(err, "note: ") == len(err.splitlines()) == 1
    assert lines(out, "its runs have been done again") == 1
    digest = next(line for line in before.splitlines() if line.startswith("digest"))
    assert digest in out.splitlines()


def test_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "run", "plan.yaml", "--out", "runs")
    Path("runs/manifest.json").write_text("{]")
    code, out, err = said(capsys, "status", "runs")
    assert (code, err) == (0, "")
    assert lines(out, "manifest.json is damaged") == 1
    code, _, err = said(capsys, "resume", "runs")
    assert code == 2
    assert f"skidpad campaign run FILE --out {Path('runs').resolve()} goes on" in err
    assert "Python:" not in err
    code, out, _ = said(capsys, "run", "plan.yaml", "--out", "runs")
    assert code == 0
    assert lines(out, "finished") == 1
    code, _, _ = said(capsys, "resume", "runs")
    assert code == 0
