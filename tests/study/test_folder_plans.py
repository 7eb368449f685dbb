"""The plan of a campaign's folder: the same goes on, more is added, another is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from campaign_folders import COLUMNS, LATER, filled, plan, rows, same_bits
from skidpad.errors import InvalidValue, MissingFile
from skidpad.study import folder as folder_module
from skidpad.study.folder import Folder, NoCampaign, PlanChanged
from skidpad.study.tables import RunsDiffer, part_name


def test_the_same_plan_goes_on_and_twice_is_harmless(where: str) -> None:
    filled(where, 10, 20).close()
    with Folder.create(where, plan(name="renamed", keep={"random": 3})) as folder:
        assert folder.missing(0, 30) == [(20, 30)]
        folder.write_part(0, 10, rows(0, 10))
        folder.write_part(5, 30, rows(5, 30))
        assert folder.read(("run",))["run"].tolist() == list(range(30))
        assert folder.plan["name"] == "renamed"


def test_another_plan_is_refused_with_words(where: str) -> None:
    filled(where, 10).close()
    other = plan(seed=8, experiment={"kind": "function", "digest": "9999", "steps": 3})
    with pytest.raises(PlanChanged) as error:
        Folder.create(where, other)
    for words in (
        "seed is 7 in the folder and 8 now",
        "experiment.digest is '0123' in the folder and '9999' now",
        "experiment.steps is nothing in the folder and 3 now",
    ):
        assert words in str(error.value)
    columns = [COLUMNS[0], {**COLUMNS[1], "unit": "t"}, *COLUMNS[3:]]
    with pytest.raises(PlanChanged, match=r"m is a number in kg .* in t now; column a_y is in the"):
        Folder.create(where, plan(columns=columns))
    with Folder.create(where, plan()) as folder:  # the lock was let go, and nothing changed
        assert folder.missing(0, 10) == []


def test_more_runs_where_the_design_says_so(where: str) -> None:
    with filled(where, 10) as folder:
        folder.note("runs", 10)
    more = plan(design={"kind": "random", "runs": 2000})
    with pytest.raises(PlanChanged, match=r"design\.runs is 1000 in the folder and 2000 now"):
        Folder.create(where, more)
    asked: list[Any] = []

    def extends(before: Any) -> bool:
        asked.append(before)
        return True

    assert Folder.open(where).notes == {"runs": 10}
    with Folder.create(where, more, extends={"design": extends}) as folder:
        assert asked == [plan()["design"]]
        assert folder.notes == {}
        assert folder.missing(0, 20) == [(10, 20)]
    assert Folder.open(where).plan == more


def test_more_columns(where: str) -> None:
    filled(where, 10, 20, 30).close()
    wider = plan(columns=[*COLUMNS[:2], LATER, *COLUMNS[2:]])
    with Folder.create(where, wider) as folder:
        assert folder.missing(0, 30) == [(0, 30)]
        assert folder.read(("run",))["run"].tolist() == list(range(30))
        assert folder.read(("slip",))["slip"].tolist() == []
        changed = rows(0, 10, "slip")
        changed["a_y"][4] += 1e-9
        with pytest.raises(RunsDiffer, match=r"run 4 has a_y = .* in the folder and .* now"):
            folder.write_part(0, 10, changed)
        assert folder.missing(0, 30) == [(0, 30)]
        folder.write_part(0, 10, rows(0, 10, "slip"))
        folder.write_part(10, 25, rows(10, 25, "slip"))
        assert folder.missing(0, 30) == [(25, 30)]
        read = folder.read(("run", "m", "slip"))
        assert read["run"].tolist() == list(range(25))
        assert folder.read(("run", "m"))["run"].tolist() == list(range(30))
        folder.write_part(25, 30, rows(25, 30, "slip"))
        folder.merge()
        assert folder.missing(0, 30) == []
    with Folder.open(where) as reader:
        assert same_bits(reader.read(("slip",))["slip"], rows(0, 30, "slip")["slip"])
        files = folder_module.storage_of(where).sizes("runs")
    assert set(files) == {part_name(0, 10), part_name(10, 25), part_name(25, 30)}
    with pytest.raises(PlanChanged, match="column slip is in the folder and not in the plan"):
        Folder.create(where, plan())


def test_folders_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NoCampaign, match=r"not empty: it has thesis\.tex; take another folder"):
        Folder.create(tmp_path, plan())
    assert os.listdir(tmp_path) == ["thesis.tex"]
    with pytest.raises(MissingFile, match="there is no campaign"):
        Folder.open(tmp_path)
    with pytest.raises(MissingFile, match="there is no campaign"):
        Folder.open(tmp_path / "nowhere", write=True)
    with pytest.raises(InvalidValue, match=r"thesis\.tex is a file"):
        Folder.create(tmp_path / "thesis.tex", plan())
    (tmp_path / "plan.json").write_text("[1, 2]")
    with pytest.raises(NoCampaign, match=r"plan\.json is not the plan of a campaign"):
        Folder.open(tmp_path)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(InvalidValue, match=r"plan\.json, line 1"):
        Folder.create(tmp_path, plan())


def test_plans_that_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="plan must be plain values"):
        Folder.create(tmp_path / "a", plan(experiment=object()))
    with pytest.raises(InvalidValue, match="has no valid columns"):
        Folder.create(tmp_path / "a", {"seed": 1})
    with pytest.raises(InvalidValue, match="kind 'text'"):
        Folder.create(tmp_path / "a", plan(columns=[{"name": "a", "kind": "text"}]))
    for name in ("run", "m"):
        with pytest.raises(InvalidValue, match=f"two columns '{name}'"):
            Folder.create(tmp_path / "a", plan(columns=[*COLUMNS, {"name": name}]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("file", ["plan.json", "manifest.json"])
def test_newer_formats(tmp_path: Path, file: str) -> None:
    filled(tmp_path, 10).close()
    content = json.loads((tmp_path / file).read_text())
    (tmp_path / file).write_text(json.dumps({**content, "format": 2}))
    for write in (False, True):
        with pytest.raises(InvalidValue, match=rf"{file}.* newer"):
            Folder.open(tmp_path, write=write)


def test_an_unfinished_creation_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"")
    (tmp_path / ".plan.json-0f.tmp").write_bytes(b"{")
    with Folder.create(tmp_path, plan()) as folder:
        assert folder.plan == plan()
    assert not list(tmp_path.glob(".*"))
