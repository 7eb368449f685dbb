"""Reading of files with errors that name the file, atomic writing, and short texts of objects.

A file may come from anyone. A file with invalid content raises `InvalidValue` (`MissingFile` if it
does not exist), with the file and the position, whatever the library that reads it raises; content
that would grow without bound is refused. Every reader opens files with `open_file`, or checks them
with `regular_file` where a library opens them by name: a named pipe or a device, whose reading may
wait forever or act on hardware, is refused. A path written in a file is resolved with
`referenced_file`.

`__repr__ = brief_repr` in a class gives a short text of its fields: the fields of a dataclass or a
NamedTuple that differ from their defaults, the public attributes of any other object. Arrays are
shown by their shape, long collections by their length, functions by their name. `shown` formats a
rejected value for an error.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from errno import ENOENT
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InvalidValue, MissingFile, SkidpadError, require

LARGEST = 1 << 30
"""Largest size in bytes of a file that is read as a whole."""
LARGEST_BLOCK = 512 << 20
"""Largest uncompressed size in bytes of a compressed block of a file."""
LARGEST_YAML = 1 << 20
"""Largest size in bytes of a YAML file; these have settings and are slow to parse."""
MOST_YAML_NODES = 100_000
"""Largest number of values in a YAML file, each counted as often as aliases repeat it."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """Context manager for a temporary path next to `path`, renamed to `path` at the end of the
    block.

    The rename is atomic on one file system, so a crash leaves the old file or the new one. If the
    block raises, the temporary file is removed and `path` is unchanged.
    """
    target = target_of(path)
    # Not tempfile: that makes private files, and the result should have ordinary permissions.
    # The name keeps the suffix, as some writers choose the format by it.
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, SkidpadError):
            raise InvalidValue(f"cannot write {target}: {error.strerror or error}") from error
        raise


def path_of(path: Any, name: str = "path") -> Path:
    """Convert to a path; raises for values of other types."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        raise InvalidValue(f"{name} = {path!r} must be a path")
    return Path(text)


def target_of(path: Any) -> Path:
    """Return the path of a file to be written; raises unless its folder exists."""
    target = path_of(path)
    if not target.parent.is_dir():
        raise MissingFile(f"cannot write {target}: there is no folder {target.parent}")
    if target.is_dir():
        raise InvalidValue(f"cannot write {target}: it is a folder")
    return target


@contextmanager
def reading(file: str | os.PathLike[str], fault: str) -> Generator[None]:
    """Context manager that turns exceptions into errors with the file and `fault`, as in "is not
    YAML".

    Use it around calls of a library, which may raise anything for unexpected bytes.
    """
    try:
        yield
    except SkidpadError as error:
        if type(error) is not InvalidValue or os.fspath(file) in str(error):
            raise
        raise InvalidValue(f"{os.fspath(file)} {fault}: {error}") from error
    except Warning:  # turned into an error by the user's filters
        raise
    except OSError as error:
        kind = MissingFile if isinstance(error, FileNotFoundError) else InvalidValue
        # An OSError without an error number comes from a library and concerns the content.
        fault = fault if fault.startswith("cannot be read") or not error.errno else "cannot be read"
        # Without an error number, the text of libraries repeats the path.
        reason = os.strerror(ENOENT) if kind is MissingFile else error.strerror or error
        raise kind(f"{os.fspath(file)} {fault}: {reason}") from error
    except RecursionError as error:
        raise InvalidValue(f"{os.fspath(file)} {fault}: nested too deeply") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(f"{os.fspath(file)} {fault}: {reason:.500}") from error


_IRREGULAR = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def regular_file(file: str | os.PathLike[str]) -> Path:
    """Return the path of a regular file; follows symbolic links and raises for anything else.

    Use it for libraries that open files by name. `open_file` also checks the file after opening it,
    so there is no race between the two.
    """
    path = path_of(file)
    with reading(path, "cannot be read"):
        _check_regular(path, path.stat().st_mode)
    return path


def open_file(file: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading bytes; raises for pipes, sockets, devices and folders."""
    path = regular_file(file)  # opening alone may rewind a tape or reset a serial port
    with reading(path, "cannot be read"):
        stream = open(path, "rb", opener=_opener)  # noqa: SIM115 - handed to the caller
        try:
            _check_regular(path, os.fstat(stream.fileno()).st_mode)
        except BaseException:
            stream.close()
            raise
        return stream


def _opener(path: str, flags: int) -> int:
    # If a path has become a pipe since it was checked, opening it must not wait for a writer.
    # Windows has no such flag, nor pipes in folders.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for holds, name in _IRREGULAR if holds(mode)), "not a regular file")
    raise InvalidValue(f"{path} cannot be read: it is {kind}; a regular file is expected")


def referenced_file(by: Path, name: str, line: int) -> Path:
    """Resolve the path of a file that another file names in a line: within its folder, relative to
    it.

    Links inside of that folder must not lead out of it, since archives from strangers may contain
    such links. Formats whose files lie elsewhere by definition, such as the images of ROS maps and
    the definitions of MVSim's worlds, resolve their paths themselves.
    """
    plain = name.replace("\\", "/")
    parts = os.path.normpath(plain).replace("\\", "/").split("/")
    drive = re.match(r"[A-Za-z]:", plain)
    outside = not name or "\0" in name or plain.startswith("/") or drive or parts[0] == ".."
    if outside or not (by.parent / plain).resolve().is_relative_to(by.parent.resolve()):
        raise InvalidValue(
            f"{by}, line {line}: the file {name!r:.200} must lie within the folder of the file "
            f"that names it, {by.parent.absolute()}, and be named relative to that folder"
        )
    return by.parent / plain


def bytes_of(file: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a file; raises for a file that cannot be read or is too large."""
    path = path_of(file)
    with open_file(path) as stream, reading(path, "cannot be read"):
        size = os.fstat(stream.fileno()).st_size
        # Files of /proc report a size of 0, and a file may grow while it is read. Requesting more
        # than the reported size would allocate that much memory.
        parts = [b"" if size > LARGEST else stream.read(size)]
        while size <= LARGEST and (more := stream.read(1 << 16)):
            parts.append(more)
            size = sum(map(len, parts))
        if size > LARGEST:
            raise InvalidValue(f"{path} has {size} bytes; at most {LARGEST} are allowed")
        return b"".join(parts)


def text_of(file: str | os.PathLike[str], kind: str = "a text file in UTF-8") -> str:
    """Read a text file in UTF-8; raises for a file that cannot be read or is not text."""
    try:
        return bytes_of(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{os.fspath(file)} is not {kind}: {error}") from error


def first_repeated(names: Iterable[str]) -> str | None:
    """Find the first name that repeats an earlier one, or None; in linear time."""
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def json_of(file: str | os.PathLike[str], kind: str = "JSON") -> Any:
    return parsed_json(text_of(file, kind), os.fspath(file), kind)


def parsed_json(text: str | bytes, source: str, kind: str = "JSON") -> Any:
    """Parse a JSON text; error messages begin with `source`."""
    try:
        with reading(source, f"is not {kind}"):
            return json.loads(text)
    except InvalidValue as error:
        cause = error.__cause__
        if not isinstance(cause, json.JSONDecodeError):
            raise
        raise InvalidValue(
            f"{source}, line {cause.lineno}, column {cause.colno}: not {kind}: {cause.msg}"
        ) from cause


def unpacked(data: bytes, compression: str, size: int) -> bytes:
    """Decompress a block of an MCAP file; raises ValueError unless it has `size` bytes."""
    if size > LARGEST_BLOCK:
        raise ValueError(f"it claims to hold {size} bytes; at most {LARGEST_BLOCK} are read")
    if compression == "zstd":
        zstandard = require("zstandard", purpose="A recording")
        # Check the size that the frame declares, since the decompressor trusts it.
        if zstandard.frame_content_size(data) not in (-1, size):
            raise ValueError("its number of bytes differs from the declared one")
        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    elif compression == "lz4":
        import lz4.frame

        decompressor: Any = lz4.frame.LZ4FrameDecompressor()
        data = decompressor.decompress(data, max_length=size + 1)
    elif compression:
        raise ValueError(f"its compression {compression!r} is unknown")
    if len(data) != size:
        raise ValueError("its number of bytes differs from the declared one")
    return data


@cache
def yaml_loader() -> Any:
    """PyYAML's safe loader, extended to read `1e-4` as a number.

    YAML 1.1 requires a decimal point in such numbers; YAML 1.2 and ROS do not, and users omit it.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    number = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    return Loader


@cache
def _strict_yaml_loader() -> Any:
    """Loader with the truth values of YAML 1.2: `off` and `no` are texts."""

    class Loader(yaml_loader()):
        pass

    resolvers = {first: list(kinds) for first, kinds in Loader.yaml_implicit_resolvers.items()}
    for first in "yYnNoO":
        kinds = resolvers.get(first, [])
        resolvers[first] = [one for one in kinds if one[0] != "tag:yaml.org,2002:bool"]
    Loader.yaml_implicit_resolvers = resolvers
    return Loader


def yaml_of(file: str | os.PathLike[str]) -> Any:
    """Read a YAML file: plain values only, limited in number with all aliases."""
    return parsed_yaml(yaml_text_of(file), file)


def parsed_yaml(text: str, source: str | os.PathLike[str], *, strict: bool = False) -> Any:
    """Parse a YAML text; error messages begin with `source`.

    `strict` follows YAML 1.2 where PyYAML does not: repeated keys of a mapping are refused, and
    only `true` and `false` are truth values.
    """
    with reading_yaml(source):
        loader = (_strict_yaml_loader() if strict else yaml_loader())(text)
        try:
            node = loader.get_single_node()
            if node is not None and _expanded(node, {}) > MOST_YAML_NODES:
                raise InvalidValue(
                    f"{os.fspath(source)} has more than {MOST_YAML_NODES} values of YAML, aliases "
                    "included"
                )
            if strict and node is not None:
                _check_unique(node, os.fspath(source))
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()


def yaml_text_of(file: str | os.PathLike[str]) -> str:
    """Read the text of a YAML file; raises if it is larger than `LARGEST_YAML`."""
    text = text_of(file)
    if len(text) > LARGEST_YAML:
        raise InvalidValue(
            f"{os.fspath(file)} has {len(text)} characters of YAML; at most {LARGEST_YAML} are "
            "allowed"
        )
    return text


@contextmanager
def reading_yaml(file: str | os.PathLike[str]) -> Generator[None]:
    """Context manager like `reading` for a block that calls PyYAML; errors contain the line."""
    import yaml

    try:
        with reading(file, "is not YAML"):
            yield
    except InvalidValue as error:
        cause = error.__cause__
        if not isinstance(cause, yaml.MarkedYAMLError) or cause.problem_mark is None:
            raise
        line = cause.problem_mark.line + 1
        raise InvalidValue(f"{os.fspath(file)}, line {line}: {cause.problem}") from cause


def _expanded(node: Any, sizes: dict[int, int]) -> int:
    """Number of values in and below a YAML node, each counted as often as aliases repeat it."""
    if isinstance(node.value, str):
        return 1
    if id(node) in sizes:
        return sizes[id(node)]
    sizes[id(node)] = MOST_YAML_NODES + 1  # a node that contains itself expands without end
    parts = (part for entry in node.value for part in (entry if type(entry) is tuple else (entry,)))
    sizes[id(node)] = 1 + sum(_expanded(part, sizes) for part in parts)
    return sizes[id(node)]


def _check_unique(node: Any, source: str) -> None:
    """Raise for a repeated key in a mapping, at any depth."""
    if isinstance(node.value, str):
        return
    seen = set[str]()
    for entry in node.value:
        parts = entry if type(entry) is tuple else (entry,)
        if len(parts) == 2 and isinstance(parts[0].value, str):
            key = parts[0].value
            if key in seen:
                line = parts[0].start_mark.line + 1
                raise InvalidValue(f"{source}, line {line}: the key {key!r} appears twice")
            seen.add(key)
        for part in parts:
            _check_unique(part, source)


LONGEST = 240
"""Largest number of characters in the text of an object."""
_LONGEST_PART = 60
"""Largest number of characters of one field in the text of an object."""
_MOST_ITEMS = 4
_MOST_DIGITS = 20
"""Largest number of digits of an integer that is shown in full."""
_DOTS = "..."


def shortened(text: str, length: int = LONGEST) -> str:
    """Put a text in one line; reduce a long text to its beginning and its last character, a
    bracket.
    """
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 4]}{_DOTS}{line[-1]}"


def shown(value: Any) -> str:
    """Format a rejected value for an error: integers with many digits by their power of ten, other
    long texts by their beginning."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_MOST_DIGITS:
        exponent = int(math.log10(2.0) * (abs(value).bit_length() - 1))
        exponent += abs(value) >= 10 ** (exponent + 1)
        sign = "-" if value < 0 else ""
        exact = abs(value) == 10**exponent
        return f"{sign}10^{exponent}" if exact else f"about {sign}10^{exponent}"
    try:
        return shortened(repr(value))
    except ValueError:  # raised for an integer with more digits than Python converts to text
        return f"a {type(value).__qualname__} with a number of thousands of digits"


def counted(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun: "1 chunk", "2 chunks"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Join names by commas; of more than `most`, show the first names and the total number."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 2])}, {_DOTS} ({len(names)})"


def brief_repr(self: Any) -> str:
    """Format an object with its fields, shortened where the text is long; used as `__repr__`."""
    name, shown, size = type(self).__name__, list[str](), 0
    for field, value in _fields(self):
        part = f"{field}={_part(value)}"
        size += len(part) + 2
        if len(name) + size + len(_DOTS) + 2 > LONGEST:
            shown.append(_DOTS)
            break
        shown.append(part)
    return f"{name}({', '.join(shown)})"


def _fields(thing: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of the fields that differ from their defaults."""
    if is_dataclass(thing):
        defaults_of = {field.name: field.default for field in fields(thing) if field.repr}
    elif isinstance(thing, tuple):
        defaults: dict[str, Any] = getattr(thing, "_field_defaults", {})
        defaults_of = {name: defaults.get(name, MISSING) for name in getattr(thing, "_fields", ())}
    else:
        defaults_of = {name: MISSING for name in vars(thing) if not name.startswith("_")}
    for name, default in defaults_of.items():
        value = getattr(thing, name, default)
        plain = isinstance(value, (str, int, float)) and isinstance(default, (str, int, float))
        usual = value is None or value is default or (plain and value == default)
        if not usual and not (isinstance(value, (str, Sequence, Mapping, Set)) and not len(value)):
            yield name, value


def _part(value: Any) -> str:
    text = _text(value)
    address = " at 0x" in text
    return f"<{type(value).__name__}>" if address else shortened(text, _LONGEST_PART)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        # Format only the beginning: a text may be a whole file.
        return repr(value[:_LONGEST_PART])
    if isinstance(value, type) or (isinstance(value, Callable) and hasattr(value, "__qualname__")):
        return value.__qualname__.rpartition("<locals>.")[2]
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"array[{' x '.join(str(n) for n in shape)}]"
    if isinstance(value, Mapping):
        return f"<{len(value)} by name>"
    if isinstance(value, (list, tuple, Set)) and not hasattr(value, "_fields"):
        return _items(value)
    return repr(value)


def _items(values: Any) -> str:
    """Format a few plain values in full, and other collections by number and type."""
    if len(values) <= _MOST_ITEMS and all(isinstance(v, (str, int, float)) for v in values):
        return f"({', '.join(_text(v) for v in values)})"
    kind = type(next(iter(values))).__name__
    return f"<{len(values)} x {kind}>"


WITH_FILE = re.compile(r"(.+?):((?:[A-Za-z]:)?[^:]+\.(?:ya?ml|json))")
"""Name of a vehicle, and a parameter file of its own."""
CALIBRATION = ("log.", "delay.")
"""Beginnings of the names of parameters that belong to a log and not to a vehicle."""


def parameter_changes(
    files: Sequence[Path] | None = None, values: Mapping[str, float | str] | None = None
) -> dict[str, Any]:
    """Parameters by dotted name from YAML or JSON files, then from `values`; later ones
    override."""
    changes: dict[str, Any] = {}
    for file in files or ():
        tree = json_of(file) if file.suffix.lower() == ".json" else yaml_of(file)
        if not isinstance(tree, Mapping):
            raise InvalidValue(f"{file} must be a mapping of parameters by name")
        changes |= dict(_leaves(tree, ""))
    return changes | dict(values or {})


def _leaves(tree: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
