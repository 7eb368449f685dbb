"""The folder of a campaign: what is written is there, in order, for everyone who reads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from campaign_folders import COLUMNS, NAMES, filled, plan, rows, same_bits
from skidpad.errors import InvalidValue
from skidpad.study import folder as folder_module
from skidpad.study.folder import Folder
from skidpad.study.tables import part_name


class Position(NamedTuple):
    x: sp.units.m = 0.0


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
        place = folder_module.storage_of(where)
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
    with pytest.raises(InvalidValue, match=r"run = 3 has no stored .* stored are 17"):
        reader.trajectory(3)
    place = folder_module.storage_of(where)
    name = "trajectories/run-000000000017.parquet"
    place.write(name, place.read(name)[:-9])
    with pytest.raises(InvalidValue, match=f"{place.shown(name)} is not a readable Parquet file"):
        reader.trajectory(17)
