"""CDR of messages: an encoder and a decoder in Python, generated from the type.

Plain CDR (XCDR1) of final structures. Nested messages are flattened as far as their place in the
record is fixed, so an odometry is a few calls of `struct`. What goes wrong in the generated code
is looked at again by `faults`, slowly, to name the field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import faults
from .array_bytes import array_bytes
from .fields import DTYPES, PRIMITIVES, Field, Shape, Structure
from .layout import MOST_BEHIND, byte_order
from .packing import COUNT, HEADER, TRUTHS, Item, block, number, packers
from .records import attribute, record_class

_FAULTS = (struct.error, AttributeError, TypeError, ValueError, OverflowError, LookupError)
_ZERO = b"\0"


def encoder(structure: Structure) -> Callable[[Any], bytes]:
    """What encodes a record."""
    write = _writer(structure)

    def encode(record: Any) -> bytes:
        data = bytearray(HEADER)
        try:
            write(record, data)
        except _FAULTS as error:
            raise faults.of_record(structure, record) from error
        return bytes(data)

    return encode


def decoder(structure: Structure) -> Callable[[bytes | bytearray | memoryview], Any]:
    """What decodes a record."""
    readers: dict[str, Callable[[bytes, int], tuple[Any, int]]] = {}

    def decode(data: bytes | bytearray | memoryview) -> Any:
        data = bytes(data)
        order = byte_order(structure, data)
        if order not in readers:
            readers[order] = _reader(structure, order)
        try:
            record, end = readers[order](data, len(HEADER))
        except _FAULTS as error:
            raise faults.of_data(structure, data) from error
        if not 0 <= len(data) - end <= MOST_BEHIND:
            faults.check_data(structure, data)
        return record

    return decode


class _Source:
    """Lines of a function, with the constants that they use."""

    def __init__(self, head: str, order: str) -> None:
        self.lines = [head]
        self.order = order
        self.names: dict[str, Any] = {"ZERO": _ZERO, "PAD": bytes(4), "TRUTHS": TRUTHS}
        self.names["array_bytes"] = array_bytes
        self.run: list[tuple[Item, str]] = []
        """Numbers that follow each other, with the expression or variable of each."""

    def add(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]

    def name(self, letter: str, value: Any = None) -> str:
        """A new variable, or a constant."""
        name = f"{letter}{len(self.names)}"
        self.names[name] = value
        return name

    def compiled(self, label: str, function: str) -> Callable[..., Any]:
        text = "\n".join(self.lines)
        exec(compile(text, f"<{function} of {label}>", "exec"), self.names)
        return self.names[function]


@cache
def _writer(structure: Structure) -> Callable[[Any, bytearray], None]:
    source = _Source("def encode(r, out):", "<")
    _write_fields(source, structure, "r")
    _pack(source)
    return source.compiled(structure.name, "encode")


def _write_fields(source: _Source, structure: Structure, record: str) -> None:
    for field in structure.fields:
        value = f"{record}.{attribute(field)}"
        if field.shape is not Shape.ONE:
            _write_many(source, field, value)
        elif field.nested is not None:
            inner = source.name("r")
            source.add(f"{inner} = {value}")
            _write_fields(source, field.nested, inner)
        elif field.base == "string":
            _write_text(source, field, value)
        else:
            truth = field.base == "bool"
            source.run.append((number(field), f"TRUTHS[{value}]" if truth else value))


def _write_many(source: _Source, field: Field, value: str) -> None:
    values, fixed = source.name("a"), field.shape is Shape.ARRAY
    if field.base in PRIMITIVES:
        size = PRIMITIVES[field.base]
        source.add(f"{values} = array_bytes({value}, {DTYPES[field.base]!r})")
        _check_size(source, field, f"len({values}) // {size}")
        if fixed:
            source.run.append((block(field), values))
            return
        source.run.append((COUNT, f"len({values}) // {size}"))
        _pack(source)
        if size == 8:  # Behind a count, so at a multiple of 4; of none there is no gap.
            source.add(f"if {values} and not len(out) & 4: out += PAD")
        source.add(f"out += {values}")
        return
    source.add(f"{values} = {value}")
    source.add(f"if isinstance({values}, str): raise TypeError")
    _check_size(source, field, f"len({values})")
    if not fixed:
        source.run.append((COUNT, f"len({values})"))
    _pack(source)
    write = _text_writer(field.text_size) if field.nested is None else _writer(field.nested)
    source.add(f"for e in {values}: {source.name('w', write)}(e, out)")


def _check_size(source: _Source, field: Field, count: str) -> None:
    if field.shape is not Shape.SEQUENCE:
        sign = "!=" if field.shape is Shape.ARRAY else ">"
        source.add(f"if {count} {sign} {field.size}: raise ValueError")


def _write_text(source: _Source, field: Field, value: str) -> None:
    text = source.name("s")
    source.add(f"{text} = {value}.encode() + ZERO")
    bound = f" or len({text}) > {field.text_size + 1}" if field.text_size else ""
    source.add(f"if {text}.find(ZERO) != len({text}) - 1{bound}: raise ValueError")
    source.run.append((COUNT, f"len({text})"))
    _pack(source)
    source.add(f"out += {text}")


@cache
def _text_writer(bound: int) -> Callable[[Any, bytearray], None]:
    source = _Source("def encode(r, out):", "<")
    _write_text(source, Field("", "string", text_size=bound), "r")
    return source.compiled("string", "encode")


def _pack(source: _Source) -> None:
    """Lines that pack the run."""
    if source.run:
        table = packers([item for item, _ in source.run], source.order)
        pack = source.name("P", tuple(packer.pack for packer in table))
        values = ", ".join(value for _, value in source.run)
        source.add(f"out += {pack}[len(out) & 7]({values})")
        source.run.clear()


@cache
def _reader(structure: Structure, order: str) -> Callable[[bytes, int], tuple[Any, int]]:
    source = _Source("def decode(d, p):", order)
    source.names |= {"new": tuple.__new__, "frombuffer": np.frombuffer, "BOOL": (False, True)}
    source.names["bools"] = _bools
    record = _read_fields(source, structure)
    _unpack(source)
    source.add(f"return {record}, p")
    return source.compiled(structure.name, "decode")


def _read_fields(source: _Source, structure: Structure) -> str:
    """Lines that read the fields; the expression of the record."""
    values: list[str] = []
    for field in structure.fields:
        if field.shape is not Shape.ONE:
            values.append(_read_many(source, field))
        elif field.nested is not None:
            values.append(_read_fields(source, field.nested))
        elif field.base == "string":
            values.append(_read_text(source, field))
        else:
            value = source.name("v")
            item = number(field)
            truth = field.base == "bool"
            source.run.append((item._replace(code="B") if truth else item, value))
            values.append(f"BOOL[{value}]" if truth else value)
    return f"new({source.name('R', record_class(structure))}, ({', '.join(values)},))"


def _read_many(source: _Source, field: Field) -> str:
    if field.base in PRIMITIVES:
        return _read_numbers(source, field)
    count, values = _read_count(source, field), source.name("a")
    read = (
        _reader(field.nested, source.order)
        if field.nested is not None
        else _text_reader(field.text_size, source.order)
    )
    # Every value has a byte or more.
    source.add(f"if {count} > len(d) - p: raise ValueError", f"{values} = []")
    source.add(f"for _ in range({count}):", f"    e, p = {source.name('f', read)}(d, p)")
    source.add(f"    {values}.append(e)")
    return f"tuple({values})"


def _read_count(source: _Source, field: Field) -> str:
    if field.shape is Shape.ARRAY:
        _unpack(source)
        return str(field.size)
    count = source.name("n")
    source.run.append((COUNT, count))
    _unpack(source)
    if field.shape is Shape.BOUNDED:
        source.add(f"if {count} > {field.size}: raise ValueError")
    return count


def _read_numbers(source: _Source, field: Field) -> str:
    """As an array of its own, in the byte order of the machine and aligned."""
    size, values = PRIMITIVES[field.base], source.name("a")
    there, here = f"{source.order}{DTYPES[field.base]}", DTYPES[field.base]
    truth = field.base == "bool"
    if field.shape is Shape.ARRAY:
        source.run.append((block(field), values))
        return f"bools({values})" if truth else f"frombuffer({values}, {there!r}).astype({here!r})"
    count = _read_count(source, field)
    if size == 8:
        source.add(f"if {count} and not p & 4: p += 4")
    if truth:
        source.add(f"{values} = bools(frombuffer(d, 'u1', {count}, p))")
    else:
        source.add(f"{values} = frombuffer(d, {there!r}, {count}, p).astype({here!r})")
    source.add(f"p += {count} * {size}")
    return values


def _bools(data: Any) -> Any:
    values = np.frombuffer(data, "u1")
    if (values > 1).any():
        raise ValueError
    return values.astype("?")


def _read_text(source: _Source, field: Field) -> str:
    count, text = source.name("n"), source.name("s")
    source.run.append((COUNT, count))
    _unpack(source)
    bound = f" or {count} > {field.text_size + 1}" if field.text_size else ""
    source.add(f"e = p + {count}", f"if d.find(ZERO, p, e) != e - 1{bound}: raise ValueError")
    source.add(f"{text} = d[p:e - 1].decode()", "p = e")
    return text


@cache
def _text_reader(bound: int, order: str) -> Callable[[bytes, int], tuple[str, int]]:
    source = _Source("def decode(d, p):", order)
    text = _read_text(source, Field("", "string", text_size=bound))
    source.add(f"return {text}, p")
    return source.compiled("string", "decode")


def _unpack(source: _Source) -> None:
    """Lines that unpack the run."""
    if source.run:
        table = packers([item for item, _ in source.run], source.order)
        unpack = source.name("U", tuple((one.unpack_from, one.size) for one in table))
        values = ", ".join(value for _, value in source.run)
        source.add(f"u, n = {unpack}[p & 7]", f"{values}, = u(d, p)", "p += n")
        source.run.clear()
