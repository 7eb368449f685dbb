"""What stands behind `--ros-args`: remaps, parameters, files of parameters."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidValue
from ..files import yaml_loader, yaml_of
from .names import Remap, namespace, node_name
from .transport import Identity

__all__ = ["RosArguments", "parsed"]

_LEVELS = ("debug", "info", "warn", "error", "fatal", "unset")
_WITHOUT_VALUE = re.compile(r"--(enable|disable)-(rosout-logs|stdout-logs|external-lib-logs)")
_SUBSTITUTION = re.compile(r"\$\((?P<kind>[\w-]+)\s+(?P<of>[^()]*?)\s*\)")


@dataclass(frozen=True)
class RosArguments:
    """How a user changes names and parameters of nodes."""

    remaps: tuple[Remap, ...] = ()
    parameters: tuple[Callable[[Identity], Mapping[str, Any]], ...] = ()
    """Each gives the parameters of a node; later ones win."""
    shares: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """What `$(find-pkg-share PACKAGE)` in a file stands for."""
    log_level: str = "info"

    def identity(self, name: str, space: str = "/") -> Identity:
        """Who a node is that would be called so, after `__node:=` and `__ns:=`."""
        for rule in self.remaps:
            if rule.node in ("", name) and rule.old in ("__node", "__name"):
                name = node_name(rule.new)
            elif rule.node in ("", name) and rule.old == "__ns":
                space = namespace(rule.new)
        return Identity(node_name(name), namespace(space))

    def names(self) -> tuple[Remap, ...]:
        """The rules for topics and services."""
        return tuple(rule for rule in self.remaps if not rule.old.startswith("__"))

    def parameters_of(self, who: Identity) -> dict[str, Any]:
        """What is asked for a node's parameters, by dotted name."""
        wanted: dict[str, Any] = {}
        for source in self.parameters:
            wanted.update(source(who))
        return wanted


def parsed(arguments: Sequence[str], shares: Mapping[str, Path] | None = None) -> RosArguments:
    """The arguments behind every `--ros-args`, up to `--` or the end; others are refused."""
    remaps: list[Remap] = []
    parameters: list[Callable[[Identity], Mapping[str, Any]]] = []
    level, words = "info", _behind_ros_args(arguments)
    shares = dict(shares or {})
    for word in words:
        if word in ("-r", "--remap"):
            remaps.append(_remap(_value(words, word)))
        elif word in ("-p", "--param"):
            parameters.append(_parameter(_value(words, word)))
        elif word == "--params-file":
            parameters.append(_file(Path(_value(words, word)), shares))
        elif word == "--log-level":
            level = _level(_value(words, word))
        elif word in ("-e", "--enclave", "--log-config-file"):
            _value(words, word)  # security and logging of ROS itself
        elif not _WITHOUT_VALUE.fullmatch(word):
            raise InvalidValue(
                f"{word!r} behind --ros-args is not known: use -r FROM:=TO, -p NAME:=VALUE, "
                "--params-file FILE or --log-level LEVEL"
            )
    return RosArguments(tuple(remaps), tuple(parameters), shares, level)


def _behind_ros_args(arguments: Iterable[str]) -> Iterator[str]:
    inside = False
    for word in arguments:
        if word == "--ros-args":
            inside = True
        elif word == "--" and inside:
            inside = False
        elif inside:
            yield word
        else:
            raise InvalidValue(
                f"unexpected argument {word!r}: remaps and parameters go behind --ros-args"
            )


def _value(words: Iterator[str], option: str) -> str:
    value = next(words, None)
    if value is None:
        raise InvalidValue(f"{option} needs a value behind it")
    return value


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
    node, parted, rest = name.partition(":")
    name = rest if parted else name
    of = node if parted else ""
    parameters = dict(_flat({name: parsed_value(value, f"parameter {name}")}))
    return lambda who: parameters if of in ("", who.name) else {}


def parsed_value(text: str, what: str) -> Any:
    """A value as YAML has it: `1`, `1.0`, `true`, `name`, `[1, 2]`."""
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
        # Those for many nodes first: what is said of this one wins.
        for key, values in sorted(sections, key=lambda section: "*" not in section[0]):
            if _fits(key, who):
                wanted.update((name, substituted(v, shares, path)) for name, v in _flat(values))
        return wanted

    return parameters


def _sections(
    path: Path, content: Mapping[str, Any], keys: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names of nodes, "/**" among them, with their parameters; namespaces may be levels of keys."""
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
    pattern = key.replace("/**/", "/*/").replace("/**", "/*")
    return "*" in key and (
        fnmatch.fnmatchcase(who.full, pattern) or fnmatch.fnmatchcase(f"/x{who.full}", pattern)
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def substituted(value: Any, shares: Mapping[str, Path], path: Path) -> Any:
    """A value with what launch files substitute: `$(find-pkg-share NAME)` and `$(env NAME)`."""
    if isinstance(value, list):
        return [substituted(entry, shares, path) for entry in value]
    return (
        value
        if not isinstance(value, str)
        else _SUBSTITUTION.sub(
            lambda match: _meaning(match["kind"], match["of"], shares, path), value
        )
    )


def _meaning(kind: str, of: str, shares: Mapping[str, Path], path: Path) -> str:
    if kind == "find-pkg-share":
        if of not in shares:
            raise InvalidValue(
                f"{path}: $(find-pkg-share {of}) is not known here: say where it lies with "
                f"--package {of}=FOLDER"
            )
        return str(shares[of])
    if kind == "env" and of in os.environ:
        return os.environ[of]
    raise InvalidValue(f"{path}: $({kind} {of}) cannot be resolved outside of a launch file")


def _level(text: str) -> str:
    level = text.rpartition(":=")[2].lower()
    if level not in _LEVELS:
        raise InvalidValue(f"log level {text!r} must be one of {', '.join(_LEVELS)}")
    return level
