"""Whatever a file holds, its reader gives a value or an error of skidpad's own."""

from __future__ import annotations

import random
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from files.kinds import KINDS, Kind
from files.mutations import mutated
from skidpad.errors import SkidpadError

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))]


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_whole_file_can_be_read(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.file
    kind.make(path)
    kind.read(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_files_raise_only_errors_of_skidpad(kind: Kind, seed: int, tmp_path: Path) -> None:
    path = tmp_path / kind.file
    kind.make(path)
    content = path.read_bytes()
    generator = random.Random(zlib.crc32(f"{kind.name} {seed}".encode()))
    for k in range(kind.tries):
        damaged = mutated(content, generator)
        path.write_bytes(damaged)
        try:
            kind.read(path)
        except SkidpadError:
            continue
        except Exception as error:
            error.add_note(f"change {k} of {kind.name}, seed {seed}: {damaged[:400]!r}")
            raise
