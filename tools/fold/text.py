"""Dotted names, file paths and imports in texts: strings, docstrings, pages, configuration."""

from __future__ import annotations

import ast
import re

from .imports import DONE
from .rewrite import Fold
from .source import PACKAGE, Definition

DOTTED = re.compile(rf"\b{PACKAGE}\.((?:[a-z_][a-z_0-9]*\.)*[A-Za-z_]\w*)(?::([A-Za-z_]\w*))?")
"""`skidpad.module.name` or `skidpad.module:name`."""
FILE = re.compile(rf"(src/{PACKAGE}/|{PACKAGE}/)([a-z_0-9/]+)\.py")
"""`src/skidpad/module.py`."""
BARE_FILE = re.compile(r"`([a-z_]+(?:/[a-z_0-9]+)*)\.py`")
"""A file of the package in a page: `model.py` in backquotes."""
IMPORT = re.compile(
    rf"^([ \t]*(?:>>> |\.\.\. )?)from ({PACKAGE}(?:\.[\w.]+)?) import (\([^)]*\)|[^\n(#]+)", re.M
)
LINE_LENGTH = 100


def in_source(fold: Fold, text: str) -> str:
    """Rewrite dotted names and file paths."""
    text = DOTTED.sub(lambda match: new_dotted(fold, match), text)
    return FILE.sub(lambda match: new_file(fold, match), text)


def in_page(fold: Fold, text: str, label: str) -> str:
    """Rewrite imports, dotted names, files and public paths of a page or configuration file."""
    text = in_source(fold, in_imports(fold, text, label))
    return public_paths(fold, BARE_FILE.sub(lambda match: new_bare_file(fold, match), text))


def in_program(fold: Fold, text: str, label: str) -> str:
    """Rewrite the texts of a test or tool whose code is rewritten already."""
    return public_paths(fold, in_source(fold, in_imports(fold, text, label)))


def new_dotted(fold: Fold, match: re.Match[str]) -> str:
    """A dotted name after the fold; its longest part that is a module counts."""
    parts, attribute = match[1].split("."), match[2]
    package, layout, names = fold.package, fold.layout, fold.names
    heads = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    module = next((head for head in heads if head in package.modules), None)
    if module is None:
        return match[0]
    rest = parts[module.count(".") + 1 :]
    place = layout.new_of[module]
    target = package.resolve(module, [*rest, attribute][0]) if rest or attribute else None
    if isinstance(target, Definition):
        where, name = names.place(target)
        if not rest:
            return f"{PACKAGE}.{where}:{name}"
        vanished = package.modules[module].is_package and place not in layout.packages
        if target.module == module or where == place or vanished:
            place, rest = where, [name, *rest[1:]]
    return ".".join([PACKAGE, *filter(None, [place]), *rest]) + (
        f":{attribute}" if attribute else ""
    )


def file_of(fold: Fold, place: str) -> str:
    """The file of a new module, relative to the package, without `.py`."""
    parts = place.split(".") if place else []
    return "/".join([*parts, "__init__"] if place in fold.layout.packages else parts)


def new_file(fold: Fold, match: re.Match[str]) -> str:
    """A file path after the fold."""
    path = match[2].removesuffix("__init__").removesuffix("/")
    module = fold.package.modules.get(path.replace("/", "."))
    if module is None or module.is_package != (path != match[2]):
        return match[0]
    return f"{match[1]}{file_of(fold, fold.layout.new_of[module.name])}.py"


def new_bare_file(fold: Fold, match: re.Match[str]) -> str:
    """A file in backquotes after the fold."""
    module = fold.package.modules.get(match[1].replace("/", "."))
    if module is None or module.is_package or fold.layout.new_of[module.name] == module.name:
        return match[0]
    return f"`{fold.layout.new_of[module.name].replace('.', '/')}.py`"


def public_paths(fold: Fold, text: str) -> str:
    """Rewrite `sp.old.path` by the lines `public` of the plan, longest first."""
    for old, new in sorted(fold.plan.public.items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"\b(sp|{PACKAGE})\.{re.escape(old)}\b", rf"\1{DONE}.{new}", text)
    return text


def in_imports(fold: Fold, text: str, label: str) -> str:
    """Rewrite `from skidpad... import ...`, where the names used below stay as they are."""
    importer = fold.importer(label)

    def again(match: re.Match[str]) -> str:
        prompt, path, names = match[1], match[2], match[3].strip().strip("()")
        base = path.removeprefix(PACKAGE).removeprefix(".")
        if DONE in match[0] or base not in fold.package.modules:
            return match[0]
        wanted: dict[str | None, list[str]] = {}
        for one in filter(None, (part.strip() for part in names.replace("\n", " ").split(","))):
            name, _, asname = (part.strip() for part in one.partition(" as "))
            imported = importer.rewrite(base, ast.alias(name, asname or None), set())
            if imported is None or imported.line is None:
                return match[0]
            _, _, what = str(imported.line.called(asname or name)).rpartition("import ")
            wanted.setdefault(imported.line.source, []).append(what)
        return "\n".join(import_text(prompt, source, what) for source, what in wanted.items())

    return IMPORT.sub(again, text)


def import_text(prompt: str, source: str | None, names: list[str]) -> str:
    """An import of several names, one name a line if it would be too long."""
    head = f"{prompt}from {source} import" if source is not None else f"{prompt}import"
    line = f"{head} {', '.join(names)}"
    if source is None or len(line) <= LINE_LENGTH:
        return line
    return f"{head} (\n" + "".join(f"{prompt}    {name},\n" for name in names) + f"{prompt})"
