"""The files around the code agree with it."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

import skidpad

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_version_is_written_once() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    home = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{skidpad.__version__}"' in home.read_text("utf-8")


def test_the_changelog_has_the_current_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert skidpad.__version__ in headings


def test_extras_named_in_messages_exist() -> None:
    texts = [
        p.read_text("utf-8") for p in [*(ROOT / "src").rglob("*.py"), *ROOT.rglob("docs/*.md")]
    ]
    lists = [one for text in texts for one in re.findall(r"skidpad\[([\w,]+)", text)]
    named = {extra for one in lists for extra in one.split(",")}
    assert named
    assert named <= set(PROJECT["project"]["optional-dependencies"])


def test_ci_runs_what_a_developer_runs() -> None:
    ci = ROOT / ".ci" / "run"
    assert "make test" in ci.read_text("utf-8").splitlines()
    assert os.name == "nt" or os.access(ci, os.X_OK)


def test_what_is_slow_runs_weekly() -> None:
    jobs = (ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8")
    assert "schedule:" in jobs
    assert "run: make test-all" in jobs
    recipes = re.findall(r"^(test[a-z-]*):.*\n\t(.*)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    left_out = {target: "not slow" in recipe for target, recipe in recipes}
    others = ("test-all", "test-gpu", "test-ray", "test-learn")
    assert left_out == {"test": True, **dict.fromkeys(others, False)}


def test_the_longest_files_of_tests_are_there() -> None:
    """One that was renamed would begin late, and the others would wait for it."""
    tests = ROOT / "tests"
    first = re.search(
        r"LONGEST = \((.*?)^\)", (tests / "conftest.py").read_text("utf-8"), re.S | re.M
    )
    assert first is not None
    assert all((tests / path).is_file() for path in re.findall(r'"([^"]+)"', first[1]))


def test_cases_that_are_marked_slow_are_there(pytestconfig: pytest.Config) -> None:
    """A case that was renamed would be fast again, unnoticed."""
    path = str(ROOT / "tests" / "conftest.py")
    settings = pytestconfig.pluginmanager.get_plugin(path)
    assert settings.UNKNOWN_CASES == {}


def test_the_make_targets_of_the_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    named = {t for p in pages for t in re.findall(r"\bmake ([a-z-]+)`", p.read_text("utf-8"))}
    assert named
    assert named <= targets


def test_the_licence_is_the_one_declared() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert text.split("\n")[1].strip() == "Apache License"
    assert "END OF TERMS AND CONDITIONS" in text
