"""The documentation is run: its Python blocks as written, its internal links followed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import runpy
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path

import pytest

import skidpad
from pages import PAGES, ROOT, blocks, python_blocks, script
from waiting import PATIENCE

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages_with_python() -> list[Path]:
    return [page for page in PAGES if python_blocks(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", pages_with_python(), ids=relative)
# A warning fails too: else a run that ended early would pass for one that went well.
@pytest.mark.filterwarnings("error::UserWarning")
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    program = tmp_path / page.name
    program.write_text(script(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # An interpreter for each page took half of the time; those that start processes need one.
    run = run_alone if "ProcessPoolExecutor" in text else run_here
    error = run(program)
    if error:
        places = re.findall(rf'File "{re.escape(str(program))}", line (\d+)', error)
        line = places[-1] if places else "?"
        pytest.fail(f"{relative(page)}:{line}\n{error}", pytrace=False)


@pytest.mark.parametrize("page", pages_with_python(), ids=relative)
def test_names_of_the_package_in_python_blocks_exist(page: Path) -> None:
    """What pages that are run in the slow tests only would show first."""
    text = page.read_text("utf-8")
    for node in ast.walk(ast.parse(script(text))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skidpad"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.util.find_spec(
                    f"{node.module}.{alias.name}"
                )
        elif isinstance(node, ast.Attribute) and re.fullmatch(r"sp(\.\w+)+", ast.unparse(node)):
            value = skidpad
            for name in ast.unparse(node).split(".")[1:]:
                value = getattr(value, name) if inspect.ismodule(value) else value


def run_here(program: Path) -> str:
    """Run a program in this process; what went wrong, if anything."""
    try:
        runpy.run_path(str(program), run_name="__main__")
    except BaseException:
        return traceback.format_exc()
    return ""


def run_alone(program: Path) -> str:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "error::UserWarning", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return run.stderr if run.returncode else ""


def test_the_readme_has_an_example_to_run() -> None:
    assert python_blocks((ROOT / "README.md").read_text("utf-8"))


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    lines = page.splitlines()
    for block in blocks(page):
        for k in range(block.line - 1, block.line - 1 + len(block.text)):
            lines[k] = ""
    return "\n".join(lines)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as hosting sites make them."""
    headings = re.findall(r"^#+ +(.*)$", prose(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=relative)
def test_internal_links_resolve(page: Path) -> None:
    broken: list[str] = []
    for number, line in enumerate(prose(page.read_text("utf-8")).splitlines(), start=1):
        for link in LINK.finditer(line):
            target = link["target"]
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            resolves = file.exists() and (
                not anchor or (file.suffix == ".md" and anchor in anchors(file))
            )
            if not resolves:
                broken.append(f"{relative(page)}:{number} {target}")
    assert not broken


def test_a_failing_block_is_named_by_its_line() -> None:
    page = "# t\n\n```python\na = 1\n```\n\n```python no-run\n1 / 0\n```\n\n```python\na / 0\n```\n"
    lines = script(page).splitlines()
    assert [k for k, line in enumerate(lines, start=1) if line] == [4, 12]
