"""Measurements as our own CSV and Parquet; reading gives back the same bits."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping

from ..arrays import AnyArray, Array
from ..extras import require
from ..files import replacing
from .measurement_names import LABEL, UNITS


def write_csv(columns: Mapping[str, Array], label: AnyArray, path: str | os.PathLike[str]) -> None:
    """See `Measurements.to_csv`."""
    with (
        replacing(path) as temporary,
        temporary.open("x", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f"{name} [{UNITS[name]}]" for name in columns), LABEL])
        # repr of a float is the shortest text that reads back as the same bits.
        texts = [map(repr, values.tolist()) for values in columns.values()]
        writer.writerows(zip(*texts, label.tolist(), strict=True))


def write_parquet(
    columns: Mapping[str, Array], label: AnyArray, path: str | os.PathLike[str]
) -> None:
    """See `Measurements.to_parquet`."""
    arrow = require("pyarrow", purpose="Measurements.to_parquet")
    parquet = require("pyarrow.parquet", purpose="Measurements.to_parquet")
    parts = [
        arrow.field(name, arrow.float64(), nullable=False, metadata={"unit": UNITS[name]})
        for name in columns
    ]
    schema = arrow.schema([*parts, arrow.field(LABEL, arrow.string(), nullable=False)])
    arrays = [*(arrow.array(values) for values in columns.values()), arrow.array(label.tolist())]
    with replacing(path) as temporary:
        parquet.write_table(arrow.table(arrays, schema=schema), temporary, compression="zstd")
