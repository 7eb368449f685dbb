"""CDR of messages: encoders and decoders in Python, generated from the type.

Plain CDR (XCDR1) of final structures. Nested messages are flattened as far as their offset in the
record is fixed, so an odometry message takes a few calls of `struct`. If the generated code fails,
the data is examined again, slowly, to name the field. Alignment counts from after the four bytes of
header and is at most 8, so there is one `struct` for each of eight offsets.

Records are NamedTuples with plain numbers and strings. Decoded arrays and sequences of numbers are
NumPy arrays, `byte` and `char` as uint8; lists and tuples can be encoded too. Sequences of strings
and of messages are tuples. A field whose name is a keyword of Python ends with an underscore. A
missing field is zero, empty, or the default of the interface file (a quaternion has w = 1).
"""

from __future__ import annotations

import keyword
import struct
from collections import deque, namedtuple
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.files import brief_repr, shortened
from ...errors import InvalidValue

DTYPES = {
    "bool": "?", "byte": "u1", "char": "u1", "int8": "i1", "uint8": "u1", "int16": "i2",
    "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "int64": "i8", "uint64": "u8",
    "float64": "f8",
}  # fmt: skip
"""NumPy type codes without the byte order; `byte` and `char` are unsigned numbers, as in
rclpy."""
PRIMITIVES = {base: np.dtype(dtype).itemsize for base, dtype in DTYPES.items()}
"""Size in bytes of each primitive type, which is also its alignment."""
DUMMY = "structure_needs_at_least_one_member"
"""Name of the field of an empty structure."""


class Shape(Enum):
    """Number of values of a field: one, a fixed array, or a sequence."""

    ONE = "one"
    ARRAY = "array"
    """A number fixed by the type."""
    BOUNDED = "bounded"
    """Any number up to a limit of the type."""
    SEQUENCE = "sequence"
    """Any number."""


@dataclass(frozen=True)
class Field:
    name: str
    base: str
    """Base type: a primitive, "string", or the full name of a message:
    "geometry_msgs/msg/Point"."""
    shape: Shape = Shape.ONE
    size: int = 0
    """Length of an array, or largest length of a bounded sequence."""
    text_size: int = 0
    """Largest number of bytes of a string; 0 without a limit."""
    default: float = 0.0
    """Default of a single number."""
    nested: Structure | None = None
    """Type of nested messages; None for numbers and strings."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Structure:
    """A message structure: full name, such as "nav_msgs/msg/Odometry", and fields in order."""

    name: str
    fields: tuple[Field, ...]

    @property
    def dds_name(self) -> str:
        """Name for the middlewares: "nav_msgs::msg::dds_::Odometry_"."""
        return dds_name(self.name)

    @cached_property
    def referenced(self) -> tuple[Structure, ...]:
        """All nested structures, sorted by name."""
        by_name: dict[str, Structure] = {}
        waiting = [field.nested for field in self.fields]
        while waiting:
            nested = waiting.pop()
            if nested is not None and nested.name not in by_name:
                by_name[nested.name] = nested
                waiting += [field.nested for field in nested.fields]
        return tuple(by_name[name] for name in sorted(by_name))


def dds_name(name: str) -> str:
    """IDL name of a type: "pkg/msg/A" becomes "pkg::msg::dds_::A_"."""
    package, kind, name = name.split("/")
    return f"{package}::{kind}::dds_::{name}_"


@cache
def record_class(structure: Structure) -> Any:
    """NamedTuple class of a structure."""
    names = [attribute(field) for field in structure.fields]
    defaults = [_default(field) for field in structure.fields]
    name = _no_keyword(structure.name.split("/")[-1])
    kind: Any = namedtuple(name, names, defaults=defaults)  # pyright: ignore[reportUntypedNamedTuple]
    kind.__reduce__ = lambda message: (_message, (structure, tuple(message)))
    return kind


def _message(structure: Structure, values: tuple[Any, ...]) -> Any:
    return record_class(structure)(*values)


def attribute(field: Field) -> str:
    """Name of a field as a Python attribute."""
    return _no_keyword(field.name)


def _no_keyword(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _default(field: Field) -> Any:
    if field.base in DTYPES and field.shape is not Shape.ONE:
        zeros = np.zeros(field.size if field.shape is Shape.ARRAY else 0, DTYPES[field.base])
        zeros.flags.writeable = False  # All records share the array.
        return zeros
    if field.shape in (Shape.SEQUENCE, Shape.BOUNDED):
        return ()
    if field.nested is not None:
        value = record_class(field.nested)()
    elif field.base == "string":
        value = ""
    else:
        value = np.dtype(DTYPES[field.base]).type(field.default).item()
    return (value,) * field.size if field.shape is Shape.ARRAY else value


def array_bytes(values: Any, dtype: str) -> bytes:
    """Encode values as bytes, little endian; raises ValueError for another kind or values out of
    range."""
    wanted = np.dtype(f"<{dtype}")
    if isinstance(values, (bytes, bytearray, memoryview)) and dtype == "u1":
        return bytes(values)
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError("must be a flat list of numbers")
    if array.dtype != wanted and array.size:
        array = _converted(array, wanted)
    return array.astype(wanted, copy=False).tobytes()


def _converted(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[wanted.kind]:
        kind = {"b": "true or false", "f": "numbers"}.get(wanted.kind, "whole numbers")
        raise ValueError(f"must be {kind}")
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ValueError(f"must be within {limits.min} to {limits.max}")
    with np.errstate(over="ignore"):
        converted = array.astype(wanted)
    if wanted.kind == "f" and (np.isinf(converted) & ~np.isinf(array)).any():
        raise ValueError(f"must be within the range of {wanted.name}")
    return converted


HEADER = b"\0\1\0\0"
"""Header of plain CDR, little endian."""
CODES = dict(zip(DTYPES, "?BBbBhHiIfqQd", strict=True))
"""Format characters of `struct` by primitive type."""


TRUTHS = {False: False, True: True}
"""Allowed values of a bool, as `struct` accepts anything."""


class Item(NamedTuple):
    """An element of a run of fixed layout: a number, or an array as bytes."""

    code: str
    size: int
    alignment: int


COUNT = Item("I", 4, 4)
"""Length of a sequence, or number of bytes of a string."""


def number(field: Field) -> Item:
    """Item for one number of a field."""
    size = PRIMITIVES[field.base]
    return Item(CODES[field.base], size, size)


def block(field: Field) -> Item:
    """Item for all numbers of a fixed-length field, as bytes."""
    size = PRIMITIVES[field.base]
    return Item(f"{field.size * size}s", field.size * size, size)


def packers(items: Sequence[Item], order: str) -> Iterator[struct.Struct]:
    """One `struct` for the items per offset modulo 8, in a buffer with a header."""
    for start in range(8):
        text, place = order, start - len(HEADER)
        for item in items:
            gap = -place % item.alignment
            text += "x" * gap + item.code
            place += gap + item.size
        yield struct.Struct(text)


MOST_BEHIND = 3
"""Largest number of bytes allowed after the last field: payloads are padded to a multiple of 4.

`rmw_serialize` of rmw_fastrtps leaves more: it returns as many bytes as it estimated. The
estimate (`get_serialized_size` of rosidl_typesupport_fastrtps) aligns an empty sequence of
8-byte numbers as if a number followed, which CDR does not. So a message may end up to 8 bytes
earlier for each such sequence; the bytes after it are not even zero. Their number follows from
the message, and `leaves` computes it.
"""


class Leaf(NamedTuple):
    """A number, an array of numbers or a string in encoded data, with its offset."""

    path: str
    """Path of the field, such as "transforms[0].header.stamp.sec"."""
    base: str
    begin: int
    length: int | None
    """Length of an array or a sequence of numbers; None for a single value."""


def byte_order(structure: Structure, data: bytes) -> str:
    """Byte order for `struct`, "<" or ">"; raises InvalidValue unless the header is that of plain
    CDR."""
    order = {b"\0\0": ">", b"\0\1": "<"}.get(data[:2]) if len(data) >= len(HEADER) else None
    if order is None:
        raise InvalidValue(
            f"{structure.name}: the header is {data[:4].hex(' ') or 'missing'}; "
            "it must be that of plain CDR, 00 00 or 00 01 and two more bytes"
        )
    return order


def leaves(structure: Structure, data: bytes) -> Iterator[Leaf]:
    """All numbers and strings in order; raises `InvalidValue` for malformed data."""
    walk = _Walk(structure, data)
    yield from walk.structure(structure, "")
    behind, most = len(data) - walk.place, walk.estimate - walk.place + MOST_BEHIND
    if behind > most:
        raise InvalidValue(
            f"{structure.name}: {behind} bytes after the last field; at most {most} are allowed"
        )


class _Walk:
    def __init__(self, structure: Structure, data: bytes) -> None:
        self.name, self.data = structure.name, data
        self.order = byte_order(structure, data)
        self.place = self.estimate = len(HEADER)
        """Offset of the next value, and its estimate by Fast CDR; see MOST_BEHIND."""

    def structure(self, structure: Structure, prefix: str) -> Iterator[Leaf]:
        for field in structure.fields:
            path = f"{prefix}{field.name}"
            if field.shape is Shape.ONE:
                yield from self.single(field, path)
            elif field.base in PRIMITIVES:
                count = self.count(field, path)
                yield self.numbers(field, path, count)
            else:
                for index in range(self.count(field, path)):
                    yield from self.single(field, f"{path}[{index}]")

    def single(self, field: Field, path: str) -> Iterator[Leaf]:
        if field.nested is not None:
            yield from self.structure(field.nested, f"{path}.")
        elif field.base == "string":
            yield self.text(field, path)
        else:
            yield self.numbers(field, path, None)

    def numbers(self, field: Field, path: str, count: int | None) -> Leaf:
        size = PRIMITIVES[field.base]
        if count == 0:
            self.estimate += _gap(self.estimate, size)
        else:
            self.align(size)
        begin = self.take(size * (1 if count is None else count), path)
        if field.base == "bool" and any(byte > 1 for byte in self.data[begin : self.place]):
            raise InvalidValue(f"{self.name}: {path} is neither true nor false")
        return Leaf(path, field.base, begin, count)

    def count(self, field: Field, path: str) -> int:
        if field.shape is Shape.ARRAY:
            return field.size
        count = self.unsigned(path)
        left = len(self.data) - self.place
        size = PRIMITIVES.get(field.base, 1)
        if count * size > left:
            raise InvalidValue(f"{self.name}: {path} claims {count} values, {left} bytes are left")
        if field.shape is Shape.BOUNDED and count > field.size:
            raise InvalidValue(
                f"{self.name}: {path} has {count} values, at most {field.size} are allowed"
            )
        return count

    def text(self, field: Field, path: str) -> Leaf:
        size = self.unsigned(path)
        if field.text_size and size > field.text_size + 1:
            raise InvalidValue(
                f"{self.name}: {path} has {size - 1} bytes, at most {field.text_size} are allowed"
            )
        begin = self.take(size, path)
        text = self.data[begin : self.place]
        if text.find(b"\0") != size - 1 or not size:
            raise InvalidValue(f"{self.name}: {path} does not end with its first zero byte")
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise InvalidValue(f"{self.name}: {path} is not UTF-8") from error
        return Leaf(path, "string", begin, None)

    def unsigned(self, path: str) -> int:
        self.align(4)
        begin = self.take(4, path)
        return struct.unpack_from(f"{self.order}I", self.data, begin)[0]

    def align(self, size: int) -> None:
        self.place += _gap(self.place, size)
        self.estimate += _gap(self.estimate, size)

    def take(self, size: int, path: str) -> int:
        begin = self.place
        if begin + size > len(self.data):
            left = max(0, len(self.data) - begin)
            raise InvalidValue(f"{self.name}: {path} needs {size} bytes, {left} are left")
        self.place += size
        self.estimate += size
        return begin


def _gap(place: int, size: int) -> int:
    """Padding bytes up to the next multiple of `size`, counted from after the header."""
    return -(place - len(HEADER)) % size


def number_fault(name: str, base: str, value: Any) -> InvalidValue | None:
    """Error for a number that does not fit its type; None if it fits."""
    if base == "bool":
        truth = isinstance(value, Hashable) and value in TRUTHS
        text = f"{name} = {shortened(repr(value), 60)} must be true or false"
        return None if truth else InvalidValue(text)
    try:
        struct.pack(f"<{CODES[base]}", value)
    except (struct.error, TypeError, OverflowError) as error:
        allowed = "a number" if base.startswith("float") else "a whole number"
        return InvalidValue(
            f"{name} = {shortened(repr(value), 60)} must be {allowed} that {base} holds ({error})"
        )
    return None


def _check(structure: Structure, record: Any, name: str, prefix: str) -> None:
    for field in structure.fields:
        path = f"{prefix}{attribute(field)}"
        if not hasattr(record, attribute(field)):
            where = f"{name}.{prefix.rstrip('.')}".rstrip(".")
            raise InvalidValue(
                f"{where} must be a record with {field.name}, got {shortened(repr(record), 60)}"
            )
        value = getattr(record, attribute(field))
        if field.shape is Shape.ONE:
            _check_one(field, value, name, path)
            continue
        count = _count(field, value, f"{name}.{path}")
        if field.shape is Shape.ARRAY and count != field.size:
            raise InvalidValue(f"{name}.{path} has {count} values, must have {field.size}")
        if field.shape is Shape.BOUNDED and count > field.size:
            raise InvalidValue(f"{name}.{path} has {count} values, may have at most {field.size}")
        for index, one in enumerate(() if field.base in PRIMITIVES else value):
            _check_one(field, one, name, f"{path}[{index}]")


def _count(field: Field, value: Any, name: str) -> int:
    try:
        if field.base in PRIMITIVES:
            return len(array_bytes(value, DTYPES[field.base])) // PRIMITIVES[field.base]
        if isinstance(value, str):
            raise TypeError("a string is not a sequence of values")
        return len(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{name} = {shortened(repr(value), 60)} must be a sequence of {field.base}: {error}"
        ) from error


def _check_one(field: Field, value: Any, name: str, path: str) -> None:
    whole = f"{name}.{path}"
    if field.nested is not None:
        _check(field.nested, value, name, f"{path}.")
    elif field.base != "string":
        if fault := number_fault(whole, field.base, value):
            raise fault
    elif not isinstance(value, str):
        raise InvalidValue(f"{whole} = {shortened(repr(value), 60)} must be a string")
    else:
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise InvalidValue(f"{whole} = {value!r} cannot be written as UTF-8") from error
        if "\0" in value:
            raise InvalidValue(f"{whole} = {value!r} must not contain a zero byte")
        if field.text_size and size > field.text_size:
            raise InvalidValue(f"{whole} has {size} bytes, may have at most {field.text_size}")


_FAULTS = (struct.error, AttributeError, TypeError, ValueError, OverflowError, LookupError)
_ZERO = b"\0"


def encoder(structure: Structure) -> Callable[[Any], bytes]:
    """Generate the function that encodes records of a structure."""
    write = _writer(structure)

    def encode(record: Any) -> bytes:
        data = bytearray(HEADER)
        try:
            write(record, data)
        except _FAULTS as error:
            _check(structure, record, structure.name, "")
            text = f"{structure.name}: cannot be encoded: {shortened(repr(record))}"
            raise InvalidValue(text) from error
        return bytes(data)

    return encode


def decoder(structure: Structure) -> Callable[[bytes | bytearray | memoryview], Any]:
    """Generate the function that decodes records of a structure."""
    readers: dict[str, Callable[[bytes, int], tuple[Any, int]]] = {}

    def decode(data: bytes | bytearray | memoryview) -> Any:
        data = bytes(data)
        order = byte_order(structure, data)
        if order not in readers:
            readers[order] = _reader(structure, order)
        try:
            record, end = readers[order](data, len(HEADER))
        except _FAULTS as error:
            deque(leaves(structure, data), maxlen=0)  # raises an error that names the field
            raise InvalidValue(f"{structure.name}: malformed data") from error
        if not 0 <= len(data) - end <= MOST_BEHIND:
            deque(leaves(structure, data), maxlen=0)
        return record

    return decode


class _Source:
    """Source lines of a generated function, with the constants they use."""

    def __init__(self, head: str, order: str) -> None:
        self.lines = [head]
        self.order = order
        self.names: dict[str, Any] = {"ZERO": _ZERO, "PAD": bytes(4), "TRUTHS": TRUTHS}
        self.names["array_bytes"] = array_bytes
        self.run: list[tuple[Item, str]] = []
        """Pending consecutive numbers, with the expression or variable of each."""

    def add(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]

    def name(self, letter: str, value: Any = None) -> str:
        """Create a new variable name, or a constant with this value."""
        name = f"{letter}{len(self.names)}"
        self.names[name] = value
        return name

    def compiled(self, label: str, function: str) -> Callable[..., Any]:
        text = "\n".join(self.lines)
        exec(compile(text, f"<{function} of {label}>", "exec"), self.names)
        return self.names[function]


@cache
def _writer(structure: Structure) -> Callable[[Any, bytearray], None]:
    return _element_writer(Field("", structure.name, nested=structure))


@cache
def _element_writer(field: Field) -> Callable[[Any, bytearray], None]:
    """Generate the function that writes one value of a field."""
    source = _Source("def encode(r, out):", "<")
    _write(source, field, "r")
    _pack(source)
    return source.compiled(field.base, "encode")


def _write(source: _Source, field: Field, value: str) -> None:
    if field.shape is not Shape.ONE:
        _write_many(source, field, value)
    elif field.nested is not None:
        inner = source.name("r")
        source.add(f"{inner} = {value}")
        for one in field.nested.fields:
            _write(source, one, f"{inner}.{attribute(one)}")
    elif field.base == "string":
        text = source.name("s")
        source.add(f"{text} = {value}.encode() + ZERO")
        bound = f" or len({text}) > {field.text_size + 1}" if field.text_size else ""
        source.add(f"if {text}.find(ZERO) != len({text}) - 1{bound}: raise ValueError")
        source.run.append((COUNT, f"len({text})"))
        _pack(source)
        source.add(f"out += {text}")
    else:
        source.run.append((number(field), f"TRUTHS[{value}]" if field.base == "bool" else value))


def _write_many(source: _Source, field: Field, value: str) -> None:
    values, size = source.name("a"), PRIMITIVES.get(field.base)
    count = f"len({values}) // {size}" if size else f"len({values})"
    if size:
        source.add(f"{values} = array_bytes({value}, {DTYPES[field.base]!r})")
    else:
        source.add(f"{values} = {value}", f"if isinstance({values}, str): raise TypeError")
    if field.shape is not Shape.SEQUENCE:
        sign = "!=" if field.shape is Shape.ARRAY else ">"
        source.add(f"if {count} {sign} {field.size}: raise ValueError")
    if field.shape is not Shape.ARRAY:
        source.run.append((COUNT, count))
    elif size:
        source.run.append((block(field), values))
        return
    _pack(source)
    if not size:
        write = _element_writer(replace(field, shape=Shape.ONE, size=0))
        source.add(f"for e in {values}: {source.name('w', write)}(e, out)")
        return
    if size == 8:  # The count before it is at a multiple of 4; an empty sequence has no gap.
        source.add(f"if {values} and not len(out) & 4: out += PAD")
    source.add(f"out += {values}")


def _pack(source: _Source) -> None:
    """Generate the lines that pack the pending run."""
    if source.run:
        table = packers([item for item, _ in source.run], source.order)
        pack = source.name("P", tuple(packer.pack for packer in table))
        values = ", ".join(value for _, value in source.run)
        source.add(f"out += {pack}[len(out) & 7]({values})")
        source.run.clear()


@cache
def _reader(structure: Structure, order: str) -> Callable[[bytes, int], tuple[Any, int]]:
    return _element_reader(Field("", structure.name, nested=structure), order)


@cache
def _element_reader(field: Field, order: str) -> Callable[[bytes, int], tuple[Any, int]]:
    """Generate the function that reads one value of a field."""
    source = _Source("def decode(d, p):", order)
    source.names |= {"new": tuple.__new__, "frombuffer": np.frombuffer, "BOOL": (False, True)}
    source.names["bools"] = _bools
    value = _read(source, field)
    _unpack(source)
    source.add(f"return {value}, p")
    return source.compiled(field.base, "decode")


def _read(source: _Source, field: Field) -> str:
    """Generate the lines that read a field; returns the expression of its value."""
    if field.shape is not Shape.ONE:
        return _read_many(source, field)
    if field.nested is not None:
        values = [_read(source, one) for one in field.nested.fields]
        return f"new({source.name('R', record_class(field.nested))}, ({', '.join(values)},))"
    if field.base == "string":
        count, text = source.name("n"), source.name("s")
        source.run.append((COUNT, count))
        _unpack(source)
        bound = f" or {count} > {field.text_size + 1}" if field.text_size else ""
        source.add(f"e = p + {count}", f"if d.find(ZERO, p, e) != e - 1{bound}: raise ValueError")
        source.add(f"{text} = d[p:e - 1].decode()", "p = e")
        return text
    value, item, truth = source.name("v"), number(field), field.base == "bool"
    source.run.append((item._replace(code="B") if truth else item, value))
    return f"BOOL[{value}]" if truth else value


def _read_many(source: _Source, field: Field) -> str:
    if field.base in PRIMITIVES:
        return _read_numbers(source, field)
    count, values = _read_count(source, field), source.name("a")
    read = _element_reader(replace(field, shape=Shape.ONE, size=0), source.order)
    # Every value takes at least a byte, which bounds the count.
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
    """Generate the read of an array as an aligned copy in native byte order."""
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


def _unpack(source: _Source) -> None:
    """Generate the lines that unpack the pending run."""
    if source.run:
        table = packers([item for item, _ in source.run], source.order)
        unpack = source.name("U", tuple((one.unpack_from, one.size) for one in table))
        values = ", ".join(value for _, value in source.run)
        source.add(f"u, n = {unpack}[p & 7]", f"{values}, = u(d, p)", "p += n")
        source.run.clear()
