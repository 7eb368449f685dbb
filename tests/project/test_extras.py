"""What is optional: the base does without, a sentence says what to install, all lists agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from skidpad.errors import EXTRAS, MissingExtra, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED: dict[str, list[str]] = PROJECT["optional-dependencies"]
COLLECTIONS = {"all", "dev", "docs", "raycast"}
"""Extras that bring nothing of their own for users."""
DISTRIBUTIONS = {
    "can": "python-can",
    "Box2D": "box2d",
    "PIL": "pillow",
    "collada": "pycollada",
    "commonroad": "commonroad-io",
    "cupy": "cupy-cuda13x",
    "stable_baselines3": "stable-baselines3",
    "zenoh": "eclipse-zenoh",
}
"""What is installed under another name than it is imported."""


def names(requirements: list[str]) -> set[str]:
    """The packages of requirements, skidpad's own extras left out."""
    roots = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in requirements}
    return roots - {"skidpad"}


def test_the_table_has_what_the_extras_install() -> None:
    for extra, packages in EXTRAS.items():
        assert names(DECLARED[extra]) == {DISTRIBUTIONS.get(name, name) for name in packages}
    assert set(DECLARED) == set(EXTRAS) | COLLECTIONS


def test_the_base_has_nothing_that_an_extra_brings() -> None:
    optional = {name for extra in EXTRAS for name in names(DECLARED[extra])}
    assert not names(PROJECT["dependencies"]) & optional


def test_all_has_what_needs_no_gpu_and_holds_no_other_package_back() -> None:
    (everything,) = DECLARED["all"]
    assert set(everything[len("skidpad[") : -1].split(",")) == set(EXTRAS) - {
        "commonroad",
        "cuda",
        "onnx",
        "ray",
        "sb3",
        "torch",
    }
    assert "skidpad[all,commonroad]" in DECLARED["dev"]
    assert "'.[dev]'" in (ROOT / "Makefile").read_text("utf-8")


def test_the_page_lists_every_extra() -> None:
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.M))
    assert set(rows) == set(DECLARED)
    for extra, packages in EXTRAS.items():
        texts = rows[extra].lower()
        for package in packages:
            alias = DISTRIBUTIONS.get(package, package).lower()
            alias = {"cupy-cuda13x": "cupy", "torch": "pytorch"}.get(alias, alias)
            assert alias in texts, f"{extra} brings {alias}"


def brought(extra: str) -> list[str]:
    """Packages that an extra installs, with those of the extras that it is made of."""
    within = re.findall(r"skidpad\[(.+?)\]", " ".join(DECLARED[extra]))
    others = (name for one in within for name in one.split(","))
    return [*EXTRAS[extra], *(name for other in others for name in EXTRAS[other])]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What an interpreter without any optional package says, by extras."""
    optional = ",".join(name for packages in EXTRAS.values() for name in packages)
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("without_extras.py")), optional],
        cwd=tmp_path_factory.mktemp("base"),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_without_extras_the_base_works_and_one_sentence_says_what_to_install(
    said: dict[str, list[str]],
) -> None:
    for extras, sentences in said.items():
        packages = "|".join(name for extra in extras.split(",") for name in brought(extra))
        ending = re.escape(f'which is not installed: pip install "skidpad[{extras}]"')
        for sentence in sentences:
            assert re.fullmatch(rf".+ needs ({packages}), {ending}", sentence), sentence
    # Worlds with models that cannot be read go on with a warning; see tests/world.
    assert set(",".join(said).split(",")) == set(EXTRAS) - {"mesh"}


@pytest.mark.parametrize(
    ("package", "extra", "instead"),
    [("Box2D", "world", "pip install box2d"), ("cyclonedds", "ros2", "Zenoh")],
)
def test_where_a_package_has_no_wheel_the_sentence_says_so(
    package: str, extra: str, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (requirement,) = DECLARED[extra]
    assert "; python_version < '3.14'" in requirement
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    with pytest.raises(MissingExtra, match=rf"no wheel for Python 3\.14 .*{instead}"):
        require(package, purpose="A test")
    monkeypatch.setattr(sys, "version_info", (3, 13, 9))
    with pytest.raises(MissingExtra, match=rf'pip install "skidpad\[{extra}\]"'):
        require(package, purpose="A test")


def test_on_boards_without_cyclone_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    (requirement,) = DECLARED["ros2"]
    assert "platform_machine == 'x86_64'" in requirement
    monkeypatch.setitem(sys.modules, "cyclonedds", None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(MissingExtra, match=r"no wheel for Linux on aarch64: take Zenoh"):
        require("cyclonedds", purpose="A test")
