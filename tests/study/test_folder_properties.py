"""Any sequence of parts, merges, crashes and openings leaves what was written, and nothing else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign_folders import COLUMNS, LATER, NAMES, plan, rows, same_bits
from skidpad.errors import SkidpadError
from skidpad.study import folder, tables
from skidpad.study.folder import Folder
from skidpad.study.storage import LocalStorage


@pytest.fixture(autouse=True, scope="module")
def merged_early() -> Iterator[None]:
    with (
        patch.object(tables, "LEVEL", 3),
        patch.object(tables, "_UNSAVED", 3),
    ):
        yield


class Died(BaseException):
    """The process is gone."""


class MortalPlace(LocalStorage):
    """A folder of a process that dies before or after a change of a file."""

    left = 1 << 60
    """Changes before it dies."""
    after = False

    @contextmanager
    def _change(self) -> Iterator[None]:
        self.left -= 1
        if self.left < 0 or (self.left == 0 and not self.after):
            raise Died
        yield
        if self.left == 0:
            raise Died

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with self._change(), super().writing(name) as file:
            yield file

    def remove(self, name: str) -> None:
        with self._change():
            super().remove(name)

    def move(self, name: str, target: str) -> None:
        with self._change():
            super().move(name, target)


writes = st.tuples(st.just("write"), st.integers(0, 30), st.integers(1, 6))
chunks = st.tuples(st.just("chunk"), st.integers(0, 17), st.just(2))
others = st.tuples(st.sampled_from(["merge", "open", "widen"]), st.just(0), st.just(0))
deaths = st.tuples(st.just("die"), st.integers(1, 6), st.integers(0, 1))
histories = st.lists(st.one_of(writes, chunks, chunks, others, deaths), max_size=25)


class History:
    """A folder, and what should be in it."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, MortalPlace(path)
        self.columns: list[dict[str, str]] = COLUMNS
        self.done: dict[str, set[int]] = {name: set() for name in (*NAMES, "slip")}
        self.open()

    def open(self) -> None:
        with patch.object(folder, "storage_of", lambda _: self.place):
            self.folder = Folder.create(self.path, plan(columns=self.columns))

    def do(self, what: str, first: int, second: int) -> None:
        if what == "die":
            self.place.left, self.place.after = first, bool(second)
            return
        try:
            self._do(what, first, second)
        except Died:
            with suppress(Died, SkidpadError):
                self.folder.close()
            self.place = MortalPlace(self.path)
            self.open()
            self._find_out(what, first, second)

    def _do(self, what: str, first: int, second: int) -> None:
        if what == "merge":
            self.folder.merge()
        elif what in ("write", "chunk"):
            begin = first * second if what == "chunk" else first
            self.folder.write_part(begin, begin + second, self._rows(begin, begin + second))
            self._remember(begin, begin + second)
        elif what == "widen":
            self.folder.close()
            self.columns = [*COLUMNS[:2], LATER, *COLUMNS[2:]]
            self.open()
        else:
            self.folder.close()
            self.open()

    def _rows(self, begin: int, end: int) -> Any:
        return rows(begin, end, *(["slip"] if LATER in self.columns else []))

    def _remember(self, begin: int, end: int) -> None:
        for column in self.columns:
            self.done[column["name"]] |= set(range(begin, end))

    def _find_out(self, what: str, first: int, second: int) -> None:
        """Whether the part that was being written is there, whole or not at all."""
        if what in ("write", "chunk"):
            begin = first * second if what == "chunk" else first
            if not self.folder.missing(begin, begin + second):
                self._remember(begin, begin + second)

    def check(self) -> None:
        names = [column["name"] for column in self.columns]
        done = set.intersection(*(self.done[name] for name in names))
        missing = [run for b, e in self.folder.missing(0, 40) for run in range(b, e)]
        assert missing == [run for run in range(40) if run not in done]
        for one in (self.folder, Folder.open(self.path)):
            read = one.read(("run", *names))
            assert read["run"].tolist() == sorted(done)
            for name in names:
                runs = sorted(self.done[name])
                alone = one.read(("run", name))
                assert alone["run"].tolist() == runs
                assert same_bits(alone[name], rows(0, 40, "slip")[name][runs])
        assert self.folder.damaged() == []


@pytest.mark.slow
@settings(max_examples=60)
@given(history=histories)
def test_nothing_is_lost_and_nothing_is_made_up(history: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as path:
        state = History(Path(path) / "campaign")
        for what, first, second in history:
            state.do(what, first, second)
        state.place.left = MortalPlace.left
        state.check()
        state.folder.merge()
        state.check()
        files = [name for name in os.listdir(state.path / "runs") if name.startswith(".")]
        state.folder.close()
        state.open()
        state.check()
        state.folder.close()
        assert not files


@settings(max_examples=30)
@given(ends=st.lists(st.integers(1, 59), unique=True), merges=st.sets(st.integers(0, 59)))
def test_the_digest_knows_neither_parts_nor_merges(ends: list[int], merges: set[int]) -> None:
    with tempfile.TemporaryDirectory() as path:
        cuts = [0, *sorted(ends), 60]
        pieces = list(pairwise(cuts))
        order = np.random.default_rng(len(ends)).permutation(len(pieces))
        with Folder.create(Path(path) / "pieces", plan()) as written:
            for k, piece in enumerate(order):
                written.write_part(*pieces[piece], rows(*pieces[piece]))
                if k in merges:
                    written.merge()
            digest = written.digest()
        with Folder.create(Path(path) / "whole", plan()) as whole:
            whole.write_part(0, 60, rows(0, 60))
            assert whole.digest() == digest
