"""The documentation is run: its Python blocks as written, its internal links followed."""

from __future__ import annotations

import ast
import contextlib
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
from printed import Recorder, differences, says, shown, unlike
from waiting import PATIENCE

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]*)\)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages_with_python() -> list[Path]:
    return [page for page in PAGES if python_blocks(page.read_text("utf-8"))]


@pytest.mark.slow_cases(
    "CONTRIBUTING.md",
    "docs/learn.md",
    "docs/controllers.md",
    "docs/driver_aids.md",
    "docs/gradients.md",
    "docs/identify.md",
    "docs/uncertainty.md",
    "docs/plots.md",
    "docs/roads.md",
    "docs/proving_ground.md",
    "docs/tutorials/formula_student.md",
    "docs/tyres.md",
    "docs/vehicles.md",
    "docs/campaigns.md",
    "docs/maps.md",
    "docs/interop.md",
    "docs/policy.md",
    "docs/tutorials/control.md",
    "docs/engine.md",
    "docs/tutorials/identification.md",
    "docs/estimators.md",
    "docs/lap.md",
)
@pytest.mark.parametrize("page", pages_with_python(), ids=relative)
# A warning fails too: else a run that ended early would pass for one that went well.
@pytest.mark.filterwarnings("error::UserWarning")
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    program = tmp_path / page.name
    program.write_text(script(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # An interpreter for each page took half of the time; those that start processes need one.
    recorder = Recorder(program)
    alone = "ProcessPoolExecutor" in text
    error = run_alone(program) if alone else run_here(program, recorder)
    if error:
        places = re.findall(rf'File "{re.escape(str(program))}", line (\d+)', error)
        line = places[-1] if places else "?"
        pytest.fail(f"{relative(page)}:{line}\n{error}", pytrace=False)
    stale = differences(text, recorder)
    if stale:
        pytest.fail("\n".join([relative(page), *stale]), pytrace=False)


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


def run_here(program: Path, recorder: Recorder) -> str:
    """Run a program in this process and record what it prints; what went wrong, if anything."""
    try:
        with contextlib.redirect_stdout(recorder):
            runpy.run_path(str(program), run_name="__main__")
    except BaseException:
        return traceback.format_exc()
    return ""


def run_alone(program: Path) -> str:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "error::UserWarning", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return run.stderr if run.returncode else ""


def test_text_after_code_and_comments_behind_it_are_what_it_printed(tmp_path: Path) -> None:
    page = """
```python
def show(n):
    print("a", n)

show(1)
print(2.5)  # -> 2.5
```
It prints:
```text
a 1
2.5
```
```python
show(3)
```
```text
skidpad run lap
```
"""
    program = tmp_path / "page.md"
    program.write_text(script(page), encoding="utf-8")
    recorder = Recorder(program)
    assert not run_here(program, recorder)
    assert [(place.first, place.last) for place in shown(page)] == [(7, 7), (3, 7)]
    assert not differences(page, recorder)
    (stale,) = differences(page.replace("a 1", "a 2"), recorder)
    assert stale == "line 11: shown 'a 2', printed 'a 1'"
    assert len(differences(page.replace("# -> 2.5", "# -> 2.6"), recorder)) == 1
    assert unlike(["a"], ["a", "b"]) == [(0, "1 lines shown, 2 printed:\na\nb")]


@pytest.mark.parametrize(
    ("line", "printed", "same"),
    [
        ("0.51 m/s", "0.5149999 m/s", True),
        ("0.51 m/s", "0.516 m/s", False),
        ("216 m", "216 m", True),
        ("216 m", "217 m", False),
        ("-0.0 m", "0.0 m", True),
        ("1.5e-3", "0.00152", True),
        ("1.5e-3", "0.00156", False),
        ("~31 plans, 1,204 rollouts", "28.2 plans, 1,204 rollouts", True),
        ("~31 plans, 1,204 rollouts", "28.2 plans, 1,205 rollouts", False),
        ("a  1", "a      1", True),
        ("Simulator(... radau)", "Simulator('car', radau)", True),
        ("85% (worst)", "85% [worst]", False),
    ],
)
def test_numbers_are_compared_to_the_digits_shown(line: str, printed: str, same: bool) -> None:
    assert says(line, printed) == same


def test_the_readme_has_an_example_to_run() -> None:
    assert python_blocks((ROOT / "README.md").read_text("utf-8"))


def test_the_first_car_of_the_readme_speeds_up_under_drive(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A reader who drives the wheels expects to go faster."""
    first = python_blocks((ROOT / "README.md").read_text("utf-8"))[0]
    made: dict[str, object] = {}
    exec("\n".join(first.text), made)
    run = made["run"]
    assert isinstance(run, skidpad.Trajectory)
    assert max(run[name].max() for name in run.names if name.startswith("u_tau")) > 0.0
    assert run["v_x"][-1] > run["v_x"][0]
    assert f"{run['v_x'][-1]:.1f}" in capsys.readouterr().out


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
            assert target, f"{relative(page)}: a link without a target: {line}"
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
