"""Random records of any message type."""

from __future__ import annotations

from typing import Any

import numpy as np

from skidpad.ros2.messages.codec import (
    DTYPES,
    DUMMY,
    Field,
    Shape,
    Structure,
    attribute,
    record_class,
)

LETTERS = "ab/_ 0é漢🙂"


def random_record(structure: Structure, rng: np.random.Generator) -> Any:
    """A record with every field drawn, sequences of up to 4 values."""
    values = {attribute(field): _field(field, rng) for field in structure.fields}
    return record_class(structure)(**values)


def _field(field: Field, rng: np.random.Generator) -> Any:
    if field.shape is Shape.ONE:
        return _one(field, rng)
    most = min(field.size, 4) if field.shape is Shape.BOUNDED else 4
    count = field.size if field.shape is Shape.ARRAY else int(rng.integers(most + 1))
    if field.base in DTYPES:
        return np.array([_one(field, rng) for _ in range(count)], DTYPES[field.base])
    return tuple(_one(field, rng) for _ in range(count))


def _one(field: Field, rng: np.random.Generator) -> Any:
    if field.nested is not None:
        return random_record(field.nested, rng)
    if field.base == "string":
        most = 8 if not field.text_size else min(8, field.text_size // 4)
        return "".join(rng.choice(list(LETTERS), int(rng.integers(most + 1))))
    if field.name == DUMMY:
        return 0
    dtype = np.dtype(DTYPES[field.base])
    if dtype.kind == "f":
        return dtype.type(rng.normal(scale=1e3)).item()
    if dtype.kind == "b":
        return bool(rng.integers(2))
    limits = np.iinfo(dtype)
    return int(rng.integers(limits.min, limits.max, dtype=dtype, endpoint=True))


def same(one: Any, other: Any) -> bool:
    """Whether two records hold the same values of the same kinds."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=True)
        return type(one).__name__ == type(other).__name__ and all(same(a, b) for a, b in pairs)
    return type(one) is type(other) and one == other


def fast_cdr_size(structure: Structure, record: Any, at: int = 0) -> int:
    """Where a record ends by the estimate of rosidl_typesupport_fastrtps (`get_serialized_size` in
    `resource/msg__type_support_c.cpp.em`, branches humble to rolling), counted from behind the
    header. `rmw_serialize` of rmw_fastrtps hands out that many bytes and the header."""
    for field, value in zip(structure.fields, record, strict=True):
        if field.shape in (Shape.SEQUENCE, Shape.BOUNDED):
            at += 4 + -at % 4
        if field.shape is not Shape.ONE and field.base in DTYPES:
            size = np.dtype(DTYPES[field.base]).itemsize
            at += len(value) * size + -at % size  # Also of an empty sequence.
            continue
        for one in (value,) if field.shape is Shape.ONE else value:
            if field.nested is not None:
                at = fast_cdr_size(field.nested, one, at)
            elif field.base == "string":
                at += 4 + -at % 4 + len(one.encode()) + 1
            else:
                size = np.dtype(DTYPES[field.base]).itemsize
                at += size + -at % size
    return at


def as_fast_rtps(structure: Structure, record: Any, cdr: bytes) -> bytes:
    """CDR of a record as `rmw_serialize` of rmw_fastrtps returns it: what is behind the last field
    is whatever lay in that memory."""
    return cdr + b"\xa5" * (4 + fast_cdr_size(structure, record) - len(cdr))


def foreign(store: Any, structure: Structure, record: Any) -> Any:
    """The record as an object of rosbags, whose sequences are lists."""
    values: dict[str, Any] = {}
    for field, value in zip(structure.fields, record, strict=True):
        if field.nested is not None:
            many = field.shape is not Shape.ONE
            ours = [foreign(store, field.nested, one) for one in (value if many else [value])]
            value = ours if many else ours[0]
        elif field.base == "string" and field.shape is not Shape.ONE:
            value = list(value)
        values[field.name] = value
    return store.types[structure.name](**values)


def native(structure: Structure, theirs: Any) -> Any:
    """An object of rosbags as our record."""
    values: list[Any] = []
    for field in structure.fields:
        value = getattr(theirs, field.name)
        if field.nested is not None:
            many = field.shape is not Shape.ONE
            ours = tuple(native(field.nested, one) for one in (value if many else [value]))
            value = ours if many else ours[0]
        elif field.base == "string" and field.shape is not Shape.ONE:
            value = tuple(value)
        values.append(value)
    return record_class(structure)(*values)
