"""Arguments of ROS: names and their remaps, parameters and their files.

`parse_arguments` reads the words after `--ros-args`. `Parameters` are those of a node: declared
with a default, set by the user, changed by other nodes.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.files import yaml_loader, yaml_of
from ..errors import InvalidValue
from .dds import Identity

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"(~(?=/|$)|/)?(/?[A-Za-z_][A-Za-z0-9_]*)(/[A-Za-z_][A-Za-z0-9_]*)*|~")


class Remap(NamedTuple):
    """A rule `from:=to`, for all nodes or for one."""

    old: str
    new: str
    node: str = ""
    """Name of the node; empty for all nodes."""


def full_name(name: str, who: Identity) -> str:
    """The full name of a topic or service: relative to the namespace, or to the node with "~"."""
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r} is no name of a topic or service: letters, digits and underscores between "
            "slashes, no part may begin with a digit"
        )
    if name.startswith("/"):
        return name
    if name.startswith("~"):
        return who.full + name[1:]
    return f"{who.namespace.rstrip('/')}/{name}"


def remapped(name: str, who: Identity, rules: tuple[Remap, ...]) -> str:
    """Full name after the first matching rule."""
    full = full_name(name, who)
    for rule in rules:
        if rule.node in ("", who.name) and full_name(rule.old, who) == full:
            return full_name(rule.new, who)
    return full


def namespace(text: str) -> str:
    """A namespace with its leading slash; raises InvalidValue for an invalid one."""
    parts = [part for part in text.split("/") if part]
    if not all(_PART.fullmatch(part) for part in parts) or "//" in text:
        raise InvalidValue(f"namespace {text!r} must be names between slashes, such as /robots/one")
    return "/" + "/".join(parts)


def node_name(text: str) -> str:
    """The name of a node; raises InvalidValue for an invalid one."""
    if not _PART.fullmatch(text):
        raise InvalidValue(
            f"node name {text!r} must be letters, digits and underscores, no digit first"
        )
    return text


_LEVELS = ("debug", "info", "warn", "error", "fatal", "unset")
_WITH_VALUE = (
    *("-r", "--remap", "-p", "--param", "--params-file", "--log-level"),
    *("-e", "--enclave", "--log-config-file"),  # security and logging of ROS itself
)
_WITHOUT_VALUE = re.compile(r"--(enable|disable)-(rosout-logs|stdout-logs|external-lib-logs)")
_SUBSTITUTION = re.compile(r"\$\((?P<kind>[\w-]+)\s+(?P<of>[^()]*?)\s*\)")


@dataclass(frozen=True)
class RosArguments:
    """Remaps and parameters of nodes, as set by a user."""

    remaps: tuple[Remap, ...] = ()
    parameters: tuple[Callable[[Identity], Mapping[str, Any]], ...] = ()
    """Sources of the parameters of a node; later ones override earlier ones."""
    shares: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders for `$(find-pkg-share PACKAGE)` in a file."""
    log_level: str = "info"

    def identity(self, name: str, space: str = "/") -> Identity:
        """The identity of a node with this name, after `__node:=` and `__ns:=`."""
        for rule in self.remaps:
            if rule.node in ("", name) and rule.old in ("__node", "__name"):
                name = node_name(rule.new)
            elif rule.node in ("", name) and rule.old == "__ns":
                space = namespace(rule.new)
        return Identity(node_name(name), namespace(space))

    def names(self) -> tuple[Remap, ...]:
        """Remap rules for topics and services."""
        return tuple(rule for rule in self.remaps if not rule.old.startswith("__"))

    def parameters_of(self, who: Identity) -> dict[str, Any]:
        return {name: value for of in self.parameters for name, value in of(who).items()}


def parse_arguments(
    arguments: Sequence[str], shares: Mapping[str, Path] | None = None
) -> RosArguments:
    """Parse the arguments after each `--ros-args`, up to `--` or the end; raises for other
    arguments."""
    remaps: list[Remap] = []
    parameters: list[Callable[[Identity], Mapping[str, Any]]] = []
    level, words = "info", _behind_ros_args(arguments)
    shares = dict(shares or {})
    for word in words:
        if _WITHOUT_VALUE.fullmatch(word):
            continue
        if word not in _WITH_VALUE:
            raise InvalidValue(
                f"{word!r} after --ros-args is unknown: use -r FROM:=TO, -p NAME:=VALUE, "
                "--params-file FILE or --log-level LEVEL"
            )
        value = next(words, None)
        if value is None:
            raise InvalidValue(f"{word} needs a value after it")
        if word in ("-r", "--remap"):
            remaps.append(_remap(value))
        elif word in ("-p", "--param"):
            parameters.append(_parameter(value))
        elif word == "--params-file":
            parameters.append(_file(Path(value), shares))
        elif word == "--log-level":
            level = value.rpartition(":=")[2].lower()
            if level not in _LEVELS:
                raise InvalidValue(f"log level {value!r} must be one of {', '.join(_LEVELS)}")
    return RosArguments(tuple(remaps), tuple(parameters), shares, level)


def _behind_ros_args(arguments: Iterable[str]) -> Iterator[str]:
    inside = False
    for word in arguments:
        if word == "--ros-args" or (word == "--" and inside):
            inside = word == "--ros-args"
        elif inside:
            yield word
        else:
            raise InvalidValue(
                f"unexpected argument {word!r}: remaps and parameters must follow --ros-args"
            )


def _remap(text: str) -> Remap:
    old, parted, new = text.partition(":=")
    if not (parted and old and new):
        raise InvalidValue(f"remap {text!r} must be FROM:=TO")
    node, parted, rest = old.partition(":")
    return Remap(rest, new, node) if parted else Remap(old, new)


def _parameter(text: str) -> Callable[[Identity], Mapping[str, Any]]:
    name, parted, value = text.partition(":=")
    if not (parted and name):
        raise InvalidValue(f"parameter {text!r} must be NAME:=VALUE")
    of, parted, rest = name.partition(":")
    of, name = (of, rest) if parted else ("", name)
    parameters = dict(_flat({name: parsed_value(value, f"parameter {name}")}))
    return lambda who: parameters if of in ("", who.name) else {}


def parsed_value(text: str, what: str) -> Any:
    """Parse a value in YAML: `1`, `1.0`, `true`, `name`, `[1, 2]`."""
    import yaml

    if len(text) > 100_000:
        raise InvalidValue(f"{what} has {len(text)} characters; at most 100000 are taken")
    try:
        return yaml.load(text, Loader=yaml_loader())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidValue(f"{what}: {text[:80]!r} is not YAML") from error


def _file(path: Path, shares: Mapping[str, Path]) -> Callable[[Identity], Mapping[str, Any]]:
    content = yaml_of(path)
    if not isinstance(content, dict):
        raise InvalidValue(f"{path} must hold a mapping of nodes to ros__parameters")
    sections = list(_sections(path, content, ()))

    def parameters(who: Identity) -> Mapping[str, Any]:
        wanted: dict[str, Any] = {}
        # Those for many nodes first, so that those for this one win.
        for key, values in sorted(sections, key=lambda section: "*" not in section[0]):
            if _fits(key, who):
                wanted.update((name, substituted(v, shares, path)) for name, v in _flat(values))
        return wanted

    return parameters


def _sections(
    path: Path, content: Mapping[str, Any], keys: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names of nodes, or "/**", with their parameters; namespaces may be levels of keys."""
    for key, inner in content.items():
        if key == "ros__parameters":
            if not isinstance(inner, dict):
                raise InvalidValue(f"{path}: ros__parameters of {'/'.join(keys)} must be a mapping")
            yield "/" + "/".join(part.strip("/") for part in keys), inner
        elif isinstance(inner, dict):
            yield from _sections(path, inner, (*keys, str(key)))
        else:
            raise InvalidValue(f"{path}: {key!r} must hold ros__parameters, got {inner!r:.60}")


def _fits(key: str, who: Identity) -> bool:
    if key in ("/**", who.full):
        return True
    pattern, names = key.replace("/**/", "/*/").replace("/**", "/*"), (who.full, f"/x{who.full}")
    return "*" in key and any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def substituted(value: Any, shares: Mapping[str, Path], path: Path) -> Any:
    """Replace the substitutions of launch files in a value: `$(find-pkg-share NAME)`, `$(env
    NAME)`."""

    def replacement(match: re.Match[str]) -> str:
        kind, of = match["kind"], match["of"]
        if kind == "find-pkg-share" and of not in shares:
            raise InvalidValue(
                f"{path}: $(find-pkg-share {of}) is unknown here: give its folder with --package "
                f"{of}=FOLDER"
            )
        known = {"find-pkg-share": shares, "env": os.environ}.get(kind, {})
        if of not in known:
            text = f"$({kind} {of}) cannot be resolved outside of a launch file"
            raise InvalidValue(f"{path}: {text}")
        return str(known[of])

    if isinstance(value, list):
        return [substituted(entry, shares, path) for entry in value]
    return _SUBSTITUTION.sub(replacement, value) if isinstance(value, str) else value


class Kind(IntEnum):
    """Types of parameters, with their numbers in ROS 2."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9


_PYTHON = {Kind.BOOL: bool, Kind.INTEGER: int, Kind.DOUBLE: float, Kind.STRING: str}
_ARRAYS = {kind: Kind[f"{kind.name}_ARRAY"] for kind in _PYTHON}
_LARGEST = 1 << 63


def kind_of(value: Any) -> Kind:
    """Parameter type of a value of Python or YAML; an empty list counts as a list of strings."""
    if value is None:
        return Kind.NOT_SET
    if isinstance(value, (list, tuple)):
        kinds = {kind_of(entry) for entry in value} or {Kind.STRING}
        kind = max(kinds)
        others = kinds - {kind}
        if kind not in _ARRAYS or (others and (kind, others) != (Kind.DOUBLE, {Kind.INTEGER})):
            raise InvalidValue(f"{value!r:.80} must have values of one type")
        return _ARRAYS[kind]
    for kind, python in _PYTHON.items():
        if type(value) is python:
            if python is int and not -_LARGEST <= int(value) < _LARGEST:
                raise InvalidValue(f"{value} does not fit into 64 bits")
            return kind
    raise InvalidValue(f"{value!r:.80} is no value of a parameter: bool, int, float, str or a list")


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    description: str = ""
    dynamic: bool = False
    """Whether it may be changed while the node runs."""
    check: Callable[[Any], object] | None = None
    """Raises InvalidValue for a value that is not allowed."""

    def converted(self, value: Any) -> Any:
        """The value converted to the declared type; integers are accepted for floating-point
        parameters."""
        kind = kind_of(value)
        if kind is not self.kind and self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY):
            if kind is Kind.INTEGER and self.kind is Kind.DOUBLE:
                value, kind = float(value), Kind.DOUBLE
            elif kind is Kind.INTEGER_ARRAY or value in ([], ()):
                value, kind = [float(entry) for entry in value], Kind.DOUBLE_ARRAY
        if kind is not self.kind and not (value in ([], ()) and self.kind in _ARRAYS.values()):
            raise InvalidValue(
                f"parameter {self.name} = {value!r:.80} is of type {kind.name.lower()}, expected "
                f"{self.kind.name.lower()}"
            )
        if not np.isfinite(value if self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY) else 0.0).all():
            raise InvalidValue(f"parameter {self.name} = {value!r:.80} must be finite")
        if self.check is not None:
            self.check(value)
        return [*value] if isinstance(value, tuple) else value


class Parameters(Mapping[str, Any]):
    """Parameter values of one node, by dotted name.

    Args:
        wanted: values from files and arguments.
    """

    def __init__(self, wanted: Mapping[str, Any] | None = None) -> None:
        self.wanted = dict(wanted or {})
        self.declared: dict[str, Parameter] = {}
        self._values: dict[str, Any] = {}
        self.changed: list[Callable[[str, Any], None]] = []
        """Callbacks with name and value after a change."""

    def declare(
        self,
        name: str,
        default: Any,
        description: str = "",
        *,
        dynamic: bool = False,
        check: Callable[[Any], object] | None = None,
    ) -> Any:
        """Add a parameter and return its value: the supplied one, or the default."""
        parameter = Parameter(name, kind_of(default), description, dynamic, check)
        value = parameter.converted(self.wanted.get(name, default))
        self.declared[name], self._values[name] = parameter, value
        return value

    def undeclared(self) -> list[str]:
        """Names of supplied parameters that the node does not have."""
        return sorted(set(self.wanted) - set(self.declared))

    def set(self, values: Mapping[str, Any]) -> None:
        """Change parameters: all of them, or raise InvalidValue and change none."""
        fresh: dict[str, Any] = {}
        for name, value in values.items():
            parameter = self.declared.get(name)
            if parameter is None:
                raise InvalidValue(
                    record.unknown_name("the node", name, tuple(self.declared), "parameter")
                )
            fresh[name] = parameter.converted(value)
            if not parameter.dynamic and fresh[name] != self._values[name]:
                raise InvalidValue(f"parameter {name} cannot be changed while the node runs")
        self._values.update(fresh)
        for name, value in fresh.items():
            for function in self.changed:
                function(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
