"""Parts: what is read is what was written, or an error."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign_folders import COLUMNS, NAMES, rows, same_bits
from skidpad.core.arrays import AnyArray
from skidpad.errors import InvalidValue
from skidpad.study import tables
from skidpad.study.experiment import RUN, Column
from skidpad.study.storage import LocalStorage
from skidpad.study.tables import (
    ColumnDigest,
    Part,
    UnreadablePart,
    checked_columns,
    inspect_part,
    part_name,
    range_of,
    read_part,
    write_part,
)

OWN = tuple(Column(**column) for column in COLUMNS)


@pytest.fixture
def place(tmp_path: Path) -> LocalStorage:
    place = LocalStorage(tmp_path)
    place.prepare(("runs",))
    return place


def written(place: LocalStorage, begin: int, end: int) -> Part:
    return write_part(place, begin, end, OWN, rows(begin, end))


def read(
    place: LocalStorage, part: Part, begin: int = 0, end: int = 1 << 60
) -> dict[str, AnyArray]:
    batches = list(read_part(place, part, NAMES, begin, end))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in (RUN, *NAMES)}


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (5, 300), (10**11, 10**11 + 70_000)])
def test_bits_come_back(place: LocalStorage, begin: int, end: int) -> None:
    part = written(place, begin, end)
    assert inspect_part(place, part_name(begin, end)) == part
    back, values = read(place, part), rows(begin, end)
    assert np.array_equal(back[RUN], np.arange(begin, end))
    assert all(same_bits(back[name], values[name]) for name in NAMES)
    some = read(place, part, begin + (end - begin) // 3, end - 1 if end - begin > 1 else end)
    cut = slice((end - begin) // 3, end - begin - 1 if end - begin > 1 else 1)
    assert all(same_bits(some[name], values[name][cut]) for name in NAMES)


def test_a_large_part_is_read_in_bounded_pieces(place: LocalStorage) -> None:
    part = written(place, 0, 200_000)
    sizes = [len(batch[RUN]) for batch in read_part(place, part, NAMES, 0, 200_000)]
    assert sum(sizes) == 200_000
    assert max(sizes) <= tables.GROUP_ROWS


def test_what_is_in_the_file(place: LocalStorage) -> None:
    part = written(place, 3, 9)
    table = pq.read_table(place.path / part.file)
    assert table.schema.names == ["run", *NAMES]
    assert [str(kind) for kind in table.schema.types] == ["int64", *["double"] * 3, "bool"]
    assert table.schema.field("a_y").metadata[b"unit"] == b"m/s^2"
    assert not any(field.nullable for field in table.schema)
    about = pq.ParquetFile(place.path / part.file).metadata
    assert about.row_group(0).column(1).compression == "ZSTD"


def test_names_carry_ranges() -> None:
    assert part_name(7, 64) == "part-000000000007-000000000064.parquet"
    assert range_of(part_name(0, 10**15)) == (0, 10**15)
    for name in ("part-7-64.parquet", part_name(5, 5), part_name(9, 5), "x", ".part.tmp"):
        assert range_of(name) is None


def test_every_truncation_is_noticed(place: LocalStorage) -> None:
    part = written(place, 0, 50)
    path = place.path / part.file
    data = path.read_bytes()
    for size in {0, 3, 4, 7, 8, 12, len(data) // 2, len(data) - 9, len(data) - 1}:
        path.write_bytes(data[:size])
        with pytest.raises(UnreadablePart, match=path.name):
            inspect_part(place, path.name)
        with pytest.raises(UnreadablePart, match=path.name):
            read(place, part)


@pytest.mark.slow
def test_every_flipped_bit_is_noticed_or_changes_no_number(place: LocalStorage) -> None:
    part = written(place, 0, 400)
    path = place.path / part.file
    data, values = path.read_bytes(), rows(0, 400)
    dice = random.Random(1)
    noticed = 0
    for _ in range(400):
        flipped = bytearray(data)
        flipped[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(flipped)
        for known in (True, False):
            try:
                back = read(place, part if known else inspect_part(place, path.name))
            except (UnreadablePart, InvalidValue):
                noticed += 1
            else:
                assert all(same_bits(back[name], values[name]) for name in NAMES)
    assert noticed > 700


def test_a_page_that_changed_is_noticed_when_some_rows_are_read(place: LocalStorage) -> None:
    part = written(place, 0, 400)
    path = place.path / part.file
    column = pq.ParquetFile(path).metadata.row_group(0).column(2)
    assert column.path_in_schema == "m"
    data = bytearray(path.read_bytes())
    end = column.data_page_offset + column.total_compressed_size
    for back in range(1, 40):  # square roots do not compress: these are bytes of numbers
        data[end - back] ^= 1
        path.write_bytes(data)
        data[end - back] ^= 1
        with pytest.raises(UnreadablePart, match="is damaged"):
            list(read_part(place, part, ("m",), 10, 20))
    path.write_bytes(data)
    assert same_bits(next(read_part(place, part, ("m",), 10, 20))["m"], rows(10, 20)["m"])


def test_other_numbers_under_the_digests_of_the_first_are_noticed(place: LocalStorage) -> None:
    part = written(place, 0, 20)
    path = place.path / part.file
    table = pq.read_table(path)
    about = pq.ParquetFile(path).metadata.metadata[b"skidpad"]
    with pq.ParquetWriter(path, table.schema) as writer:
        k = table.schema.get_field_index("m")
        writer.write_table(table.set_column(k, table.schema.field(k), pa.array(np.zeros(20))))
        writer.add_key_value_metadata({"skidpad": about})
    forged = inspect_part(place, path.name)
    with pytest.raises(UnreadablePart, match="column m has values that differ from those written"):
        read(place, forged)


def test_a_file_of_something_else_is_no_part(place: LocalStorage) -> None:
    part = written(place, 0, 20)
    (place.path / part.file).rename(place.path / "runs" / part_name(20, 40))
    with pytest.raises(UnreadablePart, match="20 runs from 0 to 19, not those of its name"):
        inspect_part(place, part_name(20, 40))
    pq.write_table(pa.table({"run": [1, 2]}), place.path / "runs" / part_name(0, 2))
    with pytest.raises(UnreadablePart, match="not a part of a campaign"):
        inspect_part(place, part_name(0, 2))
    with pytest.raises(UnreadablePart, match="no longer exists"):
        inspect_part(place, part_name(2, 3))


def test_another_part_under_the_same_name_is_noticed(place: LocalStorage) -> None:
    part = written(place, 0, 20)
    other = {**rows(0, 20), "m": np.zeros(20)}
    write_part(place, 0, 20, OWN, other)
    with pytest.raises(UnreadablePart, match="differs from the file that was written"):
        read(place, part)


def test_a_newer_format_is_not_taken_for_damage(
    place: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "FORMAT", 9)
    written(place, 0, 5)
    monkeypatch.undo()
    with pytest.raises(InvalidValue, match="newer skidpad") as error:
        inspect_part(place, part_name(0, 5))
    assert not isinstance(error.value, UnreadablePart)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a_y": None}, "a_y: a part must have this column"),
        ({"other": np.zeros(4)}, "other: the campaign has no such column"),
        ({"a_y": np.zeros(3)}, r"shape \(3,\) must be real numbers of shape \(4,\)"),
        ({"a_y": np.zeros(4, complex)}, "complex128"),
        ({"failed": np.zeros(4)}, "float64 of shape .* must be true or false"),
    ],
)
def test_columns_are_checked(change: dict[str, Any], words: str) -> None:
    given = {name: value for name, value in (rows(0, 4) | change).items() if value is not None}
    with pytest.raises(InvalidValue, match=words):
        checked_columns(OWN, given, 4)


@given(cuts=st.lists(st.integers(0, 40), max_size=5), payload=st.integers(1, 2**51 - 1))
def test_digests_know_neither_cuts_nor_kinds_of_nan(cuts: list[int], payload: int) -> None:
    values = rows(0, 40)["a_y"]
    other = values.copy()
    other[np.isnan(values)] = np.array([0xFFF8 << 48 | payload], np.uint64).view(np.float64)
    whole, pieces = ColumnDigest(), ColumnDigest()
    whole.add(values)
    for piece in np.split(other, sorted(cuts)):
        pieces.add(piece)
    assert whole.text() == pieces.text()
    signs = ColumnDigest()
    signs.add(np.where(values == 0.0, 0.0, values))
    assert signs.text() != whole.text()


def test_a_failure_while_writing_leaves_no_warning(place: LocalStorage) -> None:
    class Full:
        def __init__(self, file: Any) -> None:
            self.file, self.closed = file, False

        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def fail() -> None:
        with place.writing("runs/x") as file:
            writer = tables.PartFile(Full(file), 0, 9, OWN, 1)  # pyright: ignore
            with writer:
                writer.add(rows(0, 9))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidValue, match="No space left on device"):
            fail()
    assert place.sizes("runs") == {}
