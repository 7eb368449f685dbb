"""`skidpad campaign` on damaged folders: what is missing is told, and how to have it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.campaign_commands import in_a_folder_of_its_own, said

pytestmark = pytest.mark.filterwarnings("always::skidpad.study.tables.DamagedPart")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_a_folder_of_its_own(monkeypatch, tmp_path, columns=300)


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
    assert f"skidpad campaign run FILE --out {Path('runs').resolve()} continues" in err
    assert "Python:" not in err
    code, out, _ = said(capsys, "run", "plan.yaml", "--out", "runs")
    assert code == 0
    assert lines(out, "finished") == 1
    code, _, _ = said(capsys, "resume", "runs")
    assert code == 0
