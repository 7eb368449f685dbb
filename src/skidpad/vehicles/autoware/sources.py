"""Parameters as users have them: YAML files of ROS 2 nodes and Python mappings, made flat."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...files import reading_yaml, yaml_loader, yaml_text_of
from .schema import ALIASES, MAPS

ROOT = "ros__parameters"
"""The key under which ROS 2 puts the parameters of a node."""

_TABLES = {*MAPS, *(name for name, full in ALIASES.items() if full in MAPS)}


class Entry(NamedTuple):
    """One parameter as it stands in a source."""

    name: str
    """Dotted name below the node."""
    value: Any
    place: str
    """Where it was found, for errors: file and line, or "parameters"."""
    folder: Path | None
    """Folder of its file, from which relative paths lead; None: not from a file."""
    stray: bool = False
    """Whether it lies beside the nodes of a file, so that no node reads it."""
    repeated: str = ""
    """What to tell of it, or of a key above it, if that stands twice in its file."""


class _Leaf(NamedTuple):
    path: tuple[str, ...]
    value: Any
    line: int | None = None
    repeated: str = ""


def flatten(source: Any) -> Iterator[Entry]:
    """The parameters of a source in order: a mapping, a path, or a sequence of these; or None."""
    if source is None:
        return
    if isinstance(source, Mapping):
        yield from _named(_of_mapping(source, ()), None)
    elif isinstance(source, (str, os.PathLike)):
        file = Path(source)
        yield from _named(_of_file(file), file)
    elif isinstance(source, Sequence) and not isinstance(source, bytes):
        for part in source:
            yield from flatten(part)
    else:
        raise InvalidValue(
            f"parameters cannot be read from {source!r} ({type(source).__name__}); allowed are a "
            "mapping, the path of a YAML file, or a list of these"
        )


def files(source: Any) -> list[str]:
    """The files among the sources."""
    if isinstance(source, (str, os.PathLike)):
        return [str(Path(source))]
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return [file for part in source for file in files(part)]
    return []


def _named(leaves: Iterator[_Leaf], file: Path | None) -> Iterator[Entry]:
    """Leaves with the names their nodes know them by.

    Node names and namespaces above `ros__parameters` are dropped, whatever they are: a file is
    meant for the simulator if it is given to it. Without that key the file is taken as it is.
    """
    all_leaves = list(leaves)
    nested = any(ROOT in leaf.path for leaf in all_leaves)
    spelt: dict[str, str] = {}
    for leaf in all_leaves:
        below = leaf.path[leaf.path.index(ROOT) + 1 :] if ROOT in leaf.path else leaf.path
        name = ".".join(below)
        place = "parameters" if file is None else f"{file}, line {leaf.line}"
        other = spelt.setdefault(ALIASES.get(name, name), name)
        if other != name:
            raise InvalidValue(f"{place}: {name} is the same parameter as {other}: give one")
        folder = None if file is None else file.parent
        stray = nested and ROOT not in leaf.path
        yield Entry(name, leaf.value, place, folder, stray, leaf.repeated)


def _of_mapping(mapping: Mapping[Any, Any], above: tuple[str, ...]) -> Iterator[_Leaf]:
    for key, value in mapping.items():
        path = (*above, str(key))
        # A table may be a mapping itself.
        if isinstance(value, Mapping) and key not in _TABLES:
            yield from _of_mapping(value, path)
        else:
            yield _Leaf(path, value)


def _of_file(file: Path) -> Iterator[_Leaf]:
    import yaml

    text = yaml_text_of(file)
    with reading_yaml(file):
        loader = _loader()(text)
        try:
            top = loader.get_single_node()
            if not isinstance(top, yaml.MappingNode):
                raise InvalidValue(f"{file} holds no parameters: a mapping of names is expected")
            return iter(list(_of_node(loader, file, top, ())))
        finally:
            loader.dispose()


def _of_node(loader: Any, file: Path, node: Any, above: tuple[str, ...]) -> Iterator[_Leaf]:
    import yaml

    last: dict[str, tuple[Any, int, str]] = {}
    for key_node, value_node in node.value:
        line, key = key_node.start_mark.line + 1, str(key_node.value)
        # As a node of ROS reads it: the last one counts.
        repeated = ""
        if key in last:
            before = last.pop(key)[1]
            repeated = f"{file}, line {line}: {key} was given in line {before} before; this counts"
        last[key] = value_node, line, repeated
    for key, (value_node, line, repeated) in last.items():
        if not isinstance(value_node, yaml.MappingNode):
            value = loader.construct_object(value_node, deep=True)
            yield _Leaf((*above, key), value, line, repeated)
            continue
        for leaf in _of_node(loader, file, value_node, (*above, key)):
            yield leaf._replace(repeated=repeated or leaf.repeated)


@cache
def _loader() -> Any:
    """The loader of settings that allows no aliases, as ROS 2's own reader: it also keeps small
    files small."""
    import yaml
    from yaml.composer import ComposerError

    class Loader(yaml_loader()):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise ComposerError(None, None, "aliases are not allowed", mark)
            return super().compose_node(parent, index)

    return Loader
