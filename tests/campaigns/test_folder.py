"""The folder of a campaign: what is written is there, in order, whatever happened in between."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from campaign_folders import COLUMNS, LATER, NAMES, plan, rows, same_bits
from skidpad.campaigns import cover, part_files
from skidpad.campaigns import folder as folder_module
from skidpad.campaigns.folder import Folder, NoCampaign
from skidpad.campaigns.locks import CampaignInUse, locked
from skidpad.campaigns.parts import UnreadablePart, part_name
from skidpad.campaigns.places import LocalPlace, NotWritten
from skidpad.campaigns.plan_changes import PlanChanged
from skidpad.campaigns.run_table import DamagedPart, RunsDiffer
from skidpad.errors import InvalidValue, MissingFile


class Position(NamedTuple):
    x: sp.units.m = 0.0


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody cuts the power here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(params=["local", "memory"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://folders/{uuid.uuid4().hex}"
    return str(tmp_path / "deep" / "campaign")


def filled(where: str | Path, *ends: int) -> Folder:
    """A folder with parts up to these runs, one after the other."""
    folder = Folder.create(where, plan())
    for begin, end in zip((0, *ends), ends, strict=False):
        folder.write_part(begin, end, rows(begin, end))
    return folder


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_new_folder(where: str) -> None:
    with Folder.create(where, plan()) as folder:
        assert folder.plan == plan()
        assert [column.name for column in folder.columns] == list(NAMES)
        assert folder.missing(0, 10) == [(0, 10)]
        assert folder.read(NAMES)["failed"].dtype == np.bool_
        assert folder.notes == {}
        assert folder.trajectories == ()
        assert folder.damaged() == []
        assert isinstance(folder.path, str) == where.startswith("memory")
    assert Folder.open(where).plan == plan()


def test_runs_come_back_in_order(where: str) -> None:
    with Folder.create(where, plan()) as folder:
        for begin, end in [(20, 30), (0, 7), (7, 20), (40, 41)]:
            folder.write_part(begin, end, rows(begin, end))
        assert folder.missing(0, 50) == [(30, 40), (41, 50)]
        assert folder.missing(5, 25) == []
        reader = Folder.open(where)
        for one in (folder, reader):
            read = one.read(("run", *NAMES), 5, 35)
            assert read["run"].tolist() == list(range(5, 30))
            assert all(same_bits(read[name], rows(5, 30)[name]) for name in NAMES)
            assert one.read(("run",))["run"].tolist() == [*range(30), 40]
            assert one.read(("m",), 100)["m"].tolist() == []
            joined = [batch["m"] for batch in one.batches(("m",), 3, 22)]
            assert same_bits(np.concatenate(joined), rows(3, 22)["m"])
    with pytest.raises(InvalidValue, match=r"'a_x'.*a_y"):
        reader.read(("a_x",))


def test_the_digest_knows_the_numbers_alone(tmp_path: Path) -> None:
    digests: set[str] = set()
    for k, ends in enumerate([(70,), (1, 69, 70), tuple(range(1, 71))]):
        with filled(tmp_path / str(k), *ends) as folder:
            digests.add(folder.digest())
            folder.merge()
            digests.add(folder.digest())
    with Folder.create(tmp_path / "overlapping", plan()) as folder:
        for begin, end in [(50, 70), (0, 40), (30, 60)]:
            folder.write_part(begin, end, rows(begin, end))
        digests.add(folder.digest())
    with Folder.create(tmp_path / "turned", plan(columns=COLUMNS[::-1])) as folder:
        folder.write_part(0, 70, rows(0, 70))
        digests.add(folder.digest())
    assert len(digests) == 1
    with filled(tmp_path / "less", 69) as folder:
        assert folder.digest() not in digests
    with Folder.create(tmp_path / "else", plan()) as folder:
        changed = rows(0, 70)
        changed["m"][17] = np.nextafter(changed["m"][17], 0.0)
        folder.write_part(0, 70, changed)
        assert folder.digest() not in digests


def test_merging(where: str) -> None:
    with filled(where, *range(1, 131)) as folder:
        before = folder.digest()
        folder.merge()
        assert folder.digest() == before
        assert folder.missing(0, 130) == []
        place = folder_module.place_of(where)
        assert sorted(place.sizes("runs")) == [
            part_name(0, 64),
            part_name(64, 128),
            part_name(128, 129),
            part_name(129, 130),
        ]
        names = place.sizes("runs")
        folder.merge()
        assert place.sizes("runs") == names


def test_other_programs_read_the_runs(tmp_path: Path) -> None:
    import duckdb
    import pandas

    filled(tmp_path, *range(100, 4001, 100)).close()
    files = f"{tmp_path}/runs/*.parquet"
    question = f"select * from '{files}' order by run"
    table = duckdb.sql(question).fetchnumpy()
    frame = pandas.read_parquet(tmp_path / "runs").sort_values("run")
    for name in NAMES:
        assert same_bits(np.asarray(table[name]), rows(0, 4000)[name])
        assert same_bits(frame[name].to_numpy(), rows(0, 4000)[name])
    question = f"select run from '{files}' where not failed order by a_y desc limit 1"
    (worst,) = duckdb.sql(question).fetchall()
    values = np.nan_to_num(rows(0, 4000)["a_y"], nan=-1.0)
    assert worst == (int(np.argmax(values)),)


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
        files = folder_module.place_of(where).sizes("runs")
    assert set(files) == {part_name(0, 10), part_name(10, 25), part_name(25, 30)}
    with pytest.raises(PlanChanged, match="column slip is in the folder and not in the plan"):
        Folder.create(where, plan())


def test_one_writer_and_any_number_of_readers(where: str) -> None:
    with filled(where, 10) as folder:
        with pytest.raises(CampaignInUse, match=f"process {os.getpid()} "):
            Folder.open(where, write=True)
        with pytest.raises(CampaignInUse):
            Folder.create(where, plan())
        reader = Folder.open(where)
        for call in (
            lambda: reader.write_part(0, 1, rows(0, 1)),
            reader.merge,
            lambda: reader.note("x", 1),
        ):
            with pytest.raises(InvalidValue, match="not open for writing"):
                call()
        folder.write_part(10, 20, rows(10, 20))
        assert reader.missing(0, 30) == [(20, 30)]
    folder.close()
    with pytest.raises(InvalidValue, match="not open for writing"):
        folder.write_part(20, 30, rows(20, 30))
    Folder.open(where, write=True).close()


def test_reading_goes_on_while_parts_are_merged_and_replaced(where: str) -> None:
    with filled(where, *range(10, 1001, 10)) as folder:
        reader = Folder.open(where)
        batches = reader.batches(("run", "m"))
        seen = [next(batches) for _ in range(5)]
        folder.merge()
        seen += list(batches)
        assert np.concatenate([b["run"] for b in seen]).tolist() == list(range(1000))
        assert same_bits(np.concatenate([b["m"] for b in seen]), rows(0, 1000)["m"])


class MergedMeanwhile(LocalPlace):
    """A folder whose parts are merged while they are listed: files that come or go during that may
    be listed or not."""

    def __init__(self, path: Path, writer: Folder) -> None:
        super().__init__(path)
        self.writer = writer

    def sizes(self, folder: str) -> dict[str, int]:
        before = super().sizes(folder)
        self.writer.merge()
        after = super().sizes(folder)
        return {name: size for name, size in before.items() if name in after}


def test_parts_that_are_merged_while_they_are_listed_are_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path, *range(10, 641, 10)) as folder:
        reader = Folder.open(tmp_path)
        place = MergedMeanwhile(tmp_path, folder)
        monkeypatch.setattr(folder_module, "place_of", lambda _: place)
        assert Folder.open(tmp_path).missing(0, 640) == []
        assert reader.missing(0, 640) == []


def test_a_part_that_is_replaced_while_it_is_read_is_no_damage(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover, "LEVEL", 3)
    with filled(where, 10, 20, 30) as folder:
        folder.merge()
        reader = Folder.open(where)
        folder.write_part(0, 30, rows(0, 30))  # of the same size, as one piece
        assert same_bits(reader.read(("m",))["m"], rows(0, 30)["m"])
        assert reader.damaged() == []


def test_workers_write_parts_themselves(where: str) -> None:
    with filled(where, 10) as folder:
        writer = folder.writer()
        if not where.startswith("memory"):
            writer = pickle.loads(pickle.dumps(writer))
        writer.write_part(10, 25, rows(10, 25))
        assert folder.missing(0, 30) == [(25, 30)]
        assert same_bits(folder.read(("m",))["m"], rows(0, 25)["m"])


def test_notes(where: str) -> None:
    with filled(where, 10) as folder:
        folder.note("outcome", {"p": np.float64(0.25), "rounds": (1, np.int64(2))})
        assert folder.notes == {"outcome": {"p": 0.25, "rounds": [1, 2]}}
        with pytest.raises(InvalidValue, match="note 'bad' must be plain values"):
            folder.note("bad", object())
    assert Folder.open(where).notes == {"outcome": {"p": 0.25, "rounds": [1, 2]}}


def test_trajectories(where: str) -> None:
    states = np.array([[0.0], [1.0], [2.5]])
    trajectory = sp.Trajectory.from_arrays([0.0, 0.1, 0.2], (Position, states), name="run 17")
    with filled(where, 20) as folder:
        folder.write_trajectory(17, trajectory)
        assert folder.trajectories == (17,)
    reader = Folder.open(where)
    back = reader.trajectory(17)
    assert back.name == "run 17"
    assert same_bits(back["x"], trajectory["x"])
    with pytest.raises(InvalidValue, match=r"run = 3 was not kept .* kept are 17"):
        reader.trajectory(3)
    place = folder_module.place_of(where)
    name = "trajectories/run-000000000017.parquet"
    place.write(name, place.read(name)[:-9])
    with pytest.raises(InvalidValue, match=f"{place.shown(name)} is not a readable Parquet file"):
        reader.trajectory(17)


# What can go wrong.


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
    with pytest.raises(InvalidValue, match="does not say its columns"):
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


@pytest.mark.parametrize("known", [True, False])
def test_a_truncated_part_is_set_aside_and_its_runs_are_missing(
    tmp_path: Path, known: bool
) -> None:
    folder = filled(tmp_path, 10, 20, 30)
    folder.close()
    if not known:
        (tmp_path / "manifest.json").unlink()
    path = tmp_path / "runs" / part_name(10, 20)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(DamagedPart, match=f"{path.name}.*; 10 runs of it count as missing"):
        reader = Folder.open(tmp_path)
    assert reader.missing(0, 30) == [(10, 20)]
    assert reader.missing(0, 30) == [(10, 20)]  # told once
    (told,) = reader.damaged()
    assert str(path) in told
    assert told.endswith("10 runs of it count as missing")
    assert path.exists()  # one who reads changes nothing
    with pytest.warns(DamagedPart, match=path.name):
        folder = Folder.open(tmp_path, write=True)
    assert folder.missing(0, 30) == [(10, 20)]
    assert (tmp_path / "damaged" / path.name).exists()
    folder.write_part(10, 20, rows(10, 20))
    (told,) = folder.damaged()
    assert told.endswith("its runs have been done again")
    folder.close()
    assert Folder.open(tmp_path).damaged() == [told]


def scramble(path: Path) -> None:
    """What a bad sector leaves: other bytes in the middle, ends and size as they were."""
    data = bytearray(path.read_bytes())
    data[200:600] = bytes(byte ^ 0xA5 for byte in data[200:600])
    path.write_bytes(data)


def test_reading_goes_on_without_a_part_that_was_changed(tmp_path: Path) -> None:
    filled(tmp_path, 1000, 2000, 3000).close()
    path = tmp_path / "runs" / part_name(1000, 2000)
    scramble(path)
    reader = Folder.open(tmp_path)
    assert reader.missing(0, 3000) == []  # nobody has looked at its middle
    with pytest.warns(DamagedPart, match=f"{path.name}.*1000 runs of it count as missing"):
        read = reader.read(("run", *NAMES))
    assert read["run"].tolist() == [*range(1000), *range(2000, 3000)]
    assert same_bits(read["m"], np.concatenate([rows(0, 1000)["m"], rows(2000, 3000)["m"]]))
    assert reader.missing(0, 3000) == [(1000, 2000)]
    assert path.exists()
    (told,) = reader.damaged()
    assert "1000 runs of it count as missing" in told


def test_what_goes_on_is_read_before(tmp_path: Path) -> None:
    """A damaged part must not wait until somebody reads it after all runs are done."""
    filled(tmp_path, 1000, 2000, 3000).close()
    path = tmp_path / "runs" / part_name(1000, 2000)
    scramble(path)
    with pytest.warns(DamagedPart, match=path.name):
        folder = Folder.create(tmp_path, plan())
    with folder:
        assert folder.missing(0, 3000) == [(1000, 2000)]
        assert (tmp_path / "damaged" / path.name).exists()
        folder.write_part(1000, 2000, rows(1000, 2000))
    assert same_bits(Folder.open(tmp_path).read(("m",))["m"], rows(0, 3000)["m"])


def test_one_who_writes_is_told_of_a_part_that_was_changed(tmp_path: Path) -> None:
    """Else a design would choose by some of the runs."""
    with filled(tmp_path, 1000, 2000) as folder:
        scramble(tmp_path / "runs" / part_name(1000, 2000))
        with (
            pytest.warns(DamagedPart),
            pytest.raises(UnreadablePart, match="run the campaign again"),
        ):
            folder.read(NAMES)
        assert folder.missing(0, 2000) == [(1000, 2000)]


@pytest.mark.parametrize("read", [lambda f: f.read(("run",))["run"].size, lambda f: f.digest()])
def test_damage_after_some_runs_of_a_part_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    """All or none of a part counts."""
    monkeypatch.setattr(part_files, "GROUP_ROWS", 100)
    filled(tmp_path / "a", 300, 1000).close()
    filled(tmp_path / "b", 300).close()
    path = tmp_path / "a" / "runs" / part_name(300, 1000)
    flip(path, path.stat().st_size // 2)
    reader = Folder.open(tmp_path / "a")
    with pytest.warns(DamagedPart, match=path.name):
        reader.digest()
    assert read(Folder.open(tmp_path / "b")) == read(reader)


def test_a_merge_does_not_take_damage_over(tmp_path: Path) -> None:
    with filled(tmp_path, *range(10, 641, 10)) as folder:
        flip(tmp_path / "runs" / part_name(100, 110), 400)
        with pytest.warns(DamagedPart), pytest.raises(UnreadablePart, match="000000000110"):
            folder.merge()
        assert folder.missing(0, 640) == [(100, 110)]
        folder.write_part(100, 110, rows(100, 110))
        folder.merge()
        assert same_bits(folder.read(("m",))["m"], rows(0, 640)["m"])
        assert len(os.listdir(tmp_path / "runs")) == 1


@pytest.mark.parametrize("content", [b"", b"{]", b"\xff\xfe", b'{"format": 1}', b"null"])
def test_a_damaged_manifest_is_made_again(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, 10, 20).close()
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.warns(DamagedPart, match=r"manifest\.json is damaged") as told:
        reader = Folder.open(tmp_path)
    assert len(told) == 1
    assert reader.missing(0, 30) == [(20, 30)]
    assert reader.notes == {}  # told once
    assert "manifest.json is damaged" in reader.damaged()[0]
    with pytest.warns(DamagedPart, match=r"manifest\.json is damaged"):
        Folder.open(tmp_path, write=True).close()
    reader = Folder.open(tmp_path)
    assert reader.missing(0, 30) == [(20, 30)]
    assert "manifest.json is damaged" in reader.damaged()[0]


def test_the_manifest_never_speaks_of_a_part_that_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover, "LEVEL", 3)
    with filled(tmp_path / "campaign", 10, 20, 30) as folder:
        folder.merge()
        path = tmp_path / "campaign" / "runs" / part_name(0, 30)
        size = path.stat().st_size
        folder.write_part(0, 30, rows(0, 30))
        assert path.stat().st_size == size  # so that nothing else tells them apart
        shutil.copytree(tmp_path / "campaign", tmp_path / "killed")
    read = Folder.open(tmp_path / "killed").read(("m",))
    assert same_bits(read["m"], rows(0, 30)["m"])


class FullPlace(LocalPlace):
    """A folder on a disk with so many bytes left."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__(path)
        self.room = room

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with super().writing(name) as file:
            yield _Limited(file, self)  # pyright: ignore


class _Limited:
    def __init__(self, file: Any, place: FullPlace) -> None:
        self.file, self.place, self.closed = file, place, False

    def write(self, data: Any) -> int:
        if memoryview(data).nbytes > self.place.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.place.room -= memoryview(data).nbytes
        return self.file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = FullPlace(tmp_path, 10**9)
    monkeypatch.setattr(folder_module, "place_of", lambda _: place)
    with filled(tmp_path, *range(10, 631, 10)) as folder:
        names = sorted(os.listdir(tmp_path / "runs"))
        for room in (0, 100, 1000, 2000):
            place.room = room
            with pytest.raises(NotWritten, match=r"No space left on device; make room and go on"):
                folder.write_part(630, 5000, rows(630, 5000))
            assert sorted(os.listdir(tmp_path / "runs")) == names
        place.room = 10**9
        folder.write_part(630, 640, rows(630, 640))
        for room in (0, 100, 1000, 5000):
            place.room = room
            with pytest.raises(NotWritten, match="No space left"):
                folder.merge()
            place.room = 10**9
            assert folder.missing(0, 640) == []
        assert same_bits(folder.read(("m",))["m"], rows(0, 640)["m"])
        folder.merge()
        folder.write_part(640, 650, rows(640, 650))
        place.room = 0
    place.room = 10**9
    with Folder.open(tmp_path, write=True) as folder:  # the lock was let go
        assert folder.missing(0, 650) == []
    assert len(os.listdir(tmp_path / "runs")) == 2


def test_a_disk_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 10).close()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with Folder.open(tmp_path, write=True) as folder, monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(NotWritten, match="Permission denied"):
            folder.write_part(10, 20, rows(10, 20))
        patch.undo()
        assert folder.missing(0, 20) == [(10, 20)]
    reader = Folder.open(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(NotWritten, match=r"lock: Permission denied"):
        locked(LocalPlace(tmp_path))
    # Out of reach is not damaged.
    with pytest.raises(InvalidValue, match=r"cannot be read: Permission denied") as error:
        reader.read(NAMES)
    assert not isinstance(error.value, UnreadablePart)
    assert reader.missing(0, 10) == []
