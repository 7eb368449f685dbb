"""Whatever a file holds, its reader gives a value or an error of skidpad's own."""

from __future__ import annotations

import contextlib
import random
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.files.kinds import KINDS, Kind
from core.files.mutations import mutated
from skidpad.errors import SkidpadError

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))]


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


BY_NAME = {kind.name: kind for kind in KINDS}
FOUND = [
    ("plant", b'"dt":"', b'"dt":%s,"x":"' % (b"9" * 5000)),
    ("program", b'"code":[', b'"code":[' + b"[" * 2000),
    ("trajectory-csv", b"0.125", b"\xb7"),
    ("log-csv", b"x [m]", b"a" + b" " * 20_000 + b"b ]"),
    ("map-yaml", b"0.65", b"9" * 5000),
    ("map-yaml", b"0.65", b"2026-02-31"),
    ("map-yaml", b"trinary", b"{a: " * 2000),
    ("truck-model", b"0.08421", b"[" * 2000),
    ("truck-walls", b"[[[0", b'{"a":' * 2000 + b"[[[0"),
    ("osm", b'k="local_y" v="4.0"', b'k="local_y" v="1e308"'),
    ("osm", b'k="local_x" v="20.0"', b'k="local_x" v="1e30"'),
    ("world", b"90</init_pose>", b"$f{inf%2}</init_pose>"),
    ("world", b"90</init_pose>", b"$f{randomize(inf)}</init_pose>"),
    ("autoware-parameters", b"50.0", b"9" * 400),
    ("autoware-parameters", b"50.0", b"1" * 100_000 + b"x"),
]
"""What was found: a kind of file, and what stands there instead of what."""


@pytest.mark.slow_cases("truck-model-0.08421-instead7")
@pytest.mark.parametrize(("name", "there", "instead"), FOUND)
def test_found_cases(name: str, there: bytes, instead: bytes, tmp_path: Path) -> None:
    kind = BY_NAME[name]
    path = tmp_path / kind.file
    kind.make(path)
    content = path.read_bytes()
    assert there in content
    path.write_bytes(content.replace(there, instead, 1))
    with contextlib.suppress(SkidpadError):
        kind.read(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_whole_file_can_be_read(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.file
    kind.make(path)
    kind.read(path)


@pytest.mark.slow_cases(
    "0-bag-metadata",
    "0-log-mcap-lz4",
    "0-log-mcap-plain",
    "0-log-parquet",
    "0-map-yaml",
    "0-truck-model",
    "0-autoware-parameters",
    "0-bag-mcap",
    "0-bag-sqlite",
    "0-log-mcap",
    "0-recording",
    "0-tyre-mat",
)
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
