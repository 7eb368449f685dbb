"""Reading a world file into a scene: whole, or not at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...brief import brief_repr
from ...checks import whole
from ...errors import InvalidValue, MissingFile
from ...files import path_of, reading, regular_file
from ...random.seeds import checked
from ..errors import MissingWorld, WorldError, WorldWarning
from ..scene.scene import Scene
from .markup import Document, parse
from .nodes import MOST_REPEATS, Context, Node
from .notes import in_brief, summaries, unknown_attributes
from .reader import Reader
from .remote import cache_folder
from .shapes import Models
from .values import Scope, Values

Compat = Literal["upstream"] | None


@dataclass(frozen=True)
class Options:
    """How a world is read."""

    compat: Compat = None
    """"upstream": as upstream does, errors included."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """World variables that are there from the beginning."""
    seed: int = 0
    """Of the random numbers in expressions."""
    limit: int = MOST_REPEATS
    """Most rounds of loops in all."""
    allow_shell: bool = False
    """Whether `$(command)` may run commands."""
    allow_download: bool = False
    """Whether models at remote addresses may be downloaded."""
    models: str | os.PathLike[str] | None = None
    """Folder in which remote models are looked up; None: upstream's cache."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.compat not in (None, "upstream"):
            raise InvalidValue(f"compat = {self.compat!r} is unknown; allowed are None, 'upstream'")
        checked(self.seed)
        whole("limit", self.limit, "at least 1")
        for name, value in self.variables.items():
            if not isinstance(value, (str, int, float)):
                raise InvalidValue(f"variables[{name!r}] = {value!r} must be a text or a number")

    def context(self, collecting: bool) -> Context:
        """The state of a reading that begins."""
        variables = {name: str(value) for name, value in self.variables.items()}
        values = Values(
            variables,
            seed=self.seed,
            allow_shell=self.allow_shell,
            upstream=self.compat == "upstream",
        )
        return Context(values, self.compat, self.limit, collecting)

    def where(self) -> Models:
        """Where models come from."""
        folder = cache_folder() if self.models is None else Path(self.models)
        return Models(folder, self.allow_download)


def load(path: str | os.PathLike[str], **options: Any) -> Scene:
    """The scene that a world file describes; options are the fields of `Options`.

    Raises `WorldError` for the first thing that is wrong. What was read but is not simulated, and
    what was not understood, is in `Scene.warnings` and said, in brief, in one `WorldWarning`.
    """
    file = path_of(path)
    chosen = _options(options)
    context = chosen.context(collecting=False)
    with _reading(file):
        scene = _read(_document(context, file), context, chosen)
    return _warned(scene)


def loads(text: str, *, folder: str | os.PathLike[str] = ".", **options: Any) -> Scene:
    """The scene that a text describes; relative paths in it lead from the folder."""
    if not isinstance(text, str):
        raise InvalidValue(f"text must be the text of a world, got a {type(text).__qualname__}")
    chosen = _options(options)
    context = chosen.context(collecting=False)
    document = parse(text, path_of(folder, "folder") / "(text)")
    return _warned(_read(document, context, chosen))


def problems(path: str | os.PathLike[str], **options: Any) -> list[WorldError]:
    """Everything that is wrong with a world file, as far as it can be read."""
    return examined(path, **options)[0]


def examined(path: str | os.PathLike[str], **options: Any) -> tuple[list[WorldError], Scene | None]:
    """Everything that is wrong with a world file, and the scene if nothing is."""
    review = reviewed(path, **options)
    return list(review.errors), review.scene


class Review(NamedTuple):
    """What is to be said about a world file."""

    errors: tuple[WorldError, ...]
    """By file and place."""
    warnings: tuple[str, ...]
    """What was not understood or is not simulated; also where there are errors."""
    scene: Scene | None
    """None if there are errors."""

    __repr__ = brief_repr


def reviewed(path: str | os.PathLike[str], **options: Any) -> Review:
    """Everything that is wrong with a world file, and what its reader warns of."""
    chosen = _options(options)
    context = chosen.context(collecting=True)
    scene: Scene | None = None
    try:
        with _reading(path):
            scene = _read(_document(context, path_of(path)), context, chosen)
    except WorldError as error:
        context.report(error)
    notes = summaries(context.notes)
    return Review(_by_place(context.errors), notes, None if context.errors else scene)


@contextmanager
def _reading(file: str | os.PathLike[str]) -> Generator[None]:
    """Whatever goes wrong with a file is a `WorldError`."""
    try:
        with reading(file, "cannot be used"):
            yield
    except WorldError:
        raise
    except InvalidValue as error:
        raise WorldError(str(error)) from error


def _by_place(errors: list[WorldError]) -> tuple[WorldError, ...]:
    """Errors by file, in the order in which files first have one, then by line and column."""
    files = list(dict.fromkeys(e.source.file for e in errors if e.source is not None))

    def place(error: WorldError) -> tuple[int, int, int]:
        source = error.source
        return (-1, 0, 0) if source is None else (files.index(source.file), *source[1:])

    return tuple(sorted(errors, key=place))


def _options(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    for name in options:
        if name not in known:
            raise InvalidValue(f"{name} is no option; allowed are {', '.join(known)}")
    return Options(**options)


def _document(context: Context, file: Path) -> Document:
    if file.is_dir():
        raise WorldError(f"{file} is a folder; a world is a file")
    try:
        regular_file(file)
    except MissingFile:
        raise MissingWorld(f"the file {file} does not exist") from None
    except InvalidValue as error:
        raise WorldError(str(error)) from None
    document = context.document(file)
    context.open_files.append(file)
    return document


def _read(document: Document, context: Context, options: Options) -> Scene:
    root = document.roots[0]
    if root.tag != "mvsim_world" or len(document.roots) > 1:
        other = root if root.tag != "mvsim_world" else document.roots[1]
        raise WorldError(
            f"a world is one element <mvsim_world>, not <{other.tag}>", source=other.source
        )
    top = Node(root, Scope(document.file.absolute().parent), context)
    version = top.attribute("version")
    if version is not None and version.split(".")[0] != "1":
        context.report(top.error(f"version={version!r} is unknown; 1.0 is known"))
    reader = Reader(context, options.where())
    for node in top.each():
        reader.read(node)
    documents = [document, *context.documents.values()]
    failed = {error.source for error in context.errors}
    for name, source in unknown_attributes(documents, failed):
        context.note("unknown attributes", name, source)
    return reader.scene(str(document.file))


def _warned(scene: Scene) -> Scene:
    if scene.warnings:
        lines = in_brief(scene.warnings, scene.file)
        text = "\n".join([f"{scene.file}:", *(f"  {line}" for line in lines)])
        warnings.warn(WorldWarning(text), stacklevel=3)
    return scene
