"""All runs of a campaign as one table: CSV or Parquet, in bounded memory."""

from __future__ import annotations

import os
from typing import Any

from ..errors import InvalidValue
from ..files import replacing, target_of
from .experiment import RUN
from .folder import Folder
from .part_files import arrow_module

SUFFIXES = (".csv", ".parquet")


def export(folder: Folder, path: str | os.PathLike[str]) -> int:
    """Write the runs that a folder has, in their order; how many there are.

    The end of the name says what is written. Units are in the metadata of Parquet's fields; in CSV
    what is no number is `nan`.
    """
    target = target_of(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidValue(f"{target} must end in {' or '.join(SUFFIXES)}")
    arrow = arrow_module("pyarrow")
    schema = _schema(arrow, folder)
    count = 0
    with replacing(target) as temporary, _writer(suffix, temporary, schema) as writer:
        for rows in folder.batches(schema.names):
            writer.write_table(arrow.table(rows, schema=schema))
            count += len(rows[RUN])
    return count


def _schema(arrow: Any, folder: Folder) -> Any:
    kinds = {"number": arrow.float64(), "truth": arrow.bool_()}
    fields = [
        arrow.field(one.name, kinds[one.kind], metadata={"unit": one.unit, "meaning": one.meaning})
        for one in folder.columns
    ]
    return arrow.schema([arrow.field(RUN, arrow.int64()), *fields])


def _writer(suffix: str, path: Any, schema: Any) -> Any:
    if suffix == ".csv":
        return arrow_module("pyarrow.csv").CSVWriter(path, schema)
    parquet = arrow_module("pyarrow.parquet")
    return parquet.ParquetWriter(path, schema, compression="zstd")
