"""The page of public names has what the other pages tell users to import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import skidpad
from pages import PAGES, ROOT, python_blocks, script, tables

API = ROOT / "docs" / "api.md"
USERS = [page for page in PAGES if page != API]


class Listed(NamedTuple):
    """A row of the page."""

    module: str
    """The name of the module itself, however users call it."""
    name: str
    kind: str
    text: str


@cache
def listed() -> list[Listed]:
    sections = re.split(r"^## ", API.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [
        Listed(import_module(section.split()[0]).__name__, *row)
        for section in sections
        for table in tables(section)
        for row in table[1:]
    ]


def attributes(node: ast.Attribute) -> Iterator[tuple[ModuleType, str]]:
    """The modules and names in it that `sp.vehicles.get` and the like lead through."""
    names = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute):
        names.insert(0, inner.attr)
        inner = inner.value
    value: object = skidpad
    if isinstance(inner, ast.Name) and inner.id in ("sp", "skidpad"):
        for name in names:
            if isinstance(value, ModuleType):
                yield value, name
                value = getattr(value, name)


def uses(text: str) -> Iterator[tuple[ModuleType, str]]:
    """The modules of skidpad and the names in them that Python code imports or reads."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            yield from attributes(node)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "skidpad":
            for name in node.names:
                yield import_module(node.module or ""), name.name


def is_public(module: ModuleType, name: str) -> bool:
    """Whether a name of a module is listed, or is one of a module that is listed as a whole."""
    value = getattr(module, name, None)
    if name.startswith("__"):
        return True
    sections = {row.module for row in listed()}
    wholes = {f"{row.module}.{row.name}" for row in listed() if row.kind == "module"}
    if isinstance(value, ModuleType):
        path = value.__name__
        return path in wholes or any(f"{one}.".startswith(f"{path}.") for one in sections)
    listed_names = {(row.module, row.name) for row in listed()}
    return (module.__name__, name) in listed_names or module.__name__ in wholes


@pytest.mark.parametrize("page", USERS, ids=lambda page: page.name)
def test_what_a_page_imports_is_public(page: Path) -> None:
    unlisted = [
        f"{module.__name__}.{name}"
        for block in python_blocks(page.read_text("utf-8"))
        for module, name in uses("\n".join(block.text))
        if not is_public(module, name)
    ]
    assert not unlisted


def test_every_name_says_what_it_is() -> None:
    assert 300 < len(listed()) <= 450  # what a person can learn
    assert not [row for row in listed() if not row.text]
    # What Python has to say of a number, a tuple, a mapping or a string is no description.
    junk = {(kind.__doc__ or "").split("\n")[0] for kind in (float, int, tuple, dict, str, list)}
    assert not [row for row in listed() if any(row.text.startswith(text) for text in junk)]


def test_the_contents_name_every_section() -> None:
    page = API.read_text("utf-8")
    sections = re.findall(r"^## (\S+)$", page, re.MULTILINE)
    assert re.findall(r"^\[(\S+)\]\(#", page, re.MULTILINE) == sections
    offered = [getattr(skidpad, name) for name in skidpad.__all__]
    for one in offered:
        if isinstance(one, ModuleType):
            # A package whose parts have sections has none of its own.
            parts = [name for name in sections if f"{name}.".startswith(f"{one.__name__}.")]
            assert parts or not getattr(one, "__all__", ())


def test_code_to_copy_passes_the_linter() -> None:
    """As one file: imports stand where they are explained, and its text is the page."""
    code = script((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    rules = ["--ignore", "E402,D100,I001,W"]
    place = ["--stdin-filename", str(ROOT / "src" / "skidpad" / "snippets.py")]
    command = [sys.executable, "-m", "ruff", "check", *rules, *place, "-"]
    run = subprocess.run(command, input=code, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
