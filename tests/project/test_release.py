"""What is released: contents and metadata of wheel and sdist, and the tool that checks them."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hatchling import build as hatchling_build
from hatchling.builders.sdist import SdistBuilder
from trove_classifiers import classifiers

import skidpad

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release, package_readme = tool("check_release"), tool("package_readme")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, before = tmp_path_factory.mktemp("dist"), Path.cwd()
    os.chdir(ROOT)  # where a front end calls the hook
    try:
        return folder / hatchling_build.build_wheel(str(folder))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def tree() -> set[str]:
    """Files that git has or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        pytest.skip("not a checkout: git does not know these files")
    return {name for name in run.stdout.split("\0") if name and (ROOT / name).is_file()}


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(
    wheel: Path, tree: set[str]
) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    release.check_wheel(names, tree)
    # Pages, styles, scripts, worlds and tyres are looked up at run time.
    suffixes = {Path(name).suffix for name in names if name.startswith("skidpad/")}
    assert {".py", ".js", ".css", ".html", ".xml", ".tir", ".typed"} <= suffixes


def test_what_is_missing_or_foreign_is_named(wheel: Path, tree: set[str]) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    with pytest.raises(release.Fault, match=r"the wheel lacks skidpad/py\.typed \(1 files\)"):
        release.check_wheel([name for name in names if name != "skidpad/py.typed"], tree)
    with pytest.raises(release.Fault, match=r"the wheel has skidpad/notes\.txt .*foreign"):
        release.check_wheel([*names, "skidpad/notes.txt"], tree)
    with pytest.raises(release.Fault, match=r"its description lacks licenses/LICENSE"):
        release.check_wheel([name for name in names if not name.endswith("LICENSE")], tree)


def test_the_sdist_is_the_tree(tree: set[str]) -> None:
    builder = SdistBuilder(str(ROOT))
    names = {
        file.distribution_path.replace(os.sep, "/") for file in builder.recurse_included_files()
    }
    release.check_sdist(names, tree)
    assert {"LICENSE", "Makefile", "pyproject.toml", "tests/conftest.py"} <= names


def test_an_index_can_show_it(wheel: Path) -> None:
    metadata = release.metadata_of(wheel)
    release.check_metadata(metadata, skidpad.__version__)
    assert set(PROJECT["classifiers"]) <= set(classifiers)
    with pytest.raises(release.Fault, match=r"Version of the wheel is .* must be '9\.9'"):
        release.check_metadata(metadata, "9.9")
    del metadata["Project-URL"]
    with pytest.raises(release.Fault, match="no address of Changelog, Documentation"):
        release.check_metadata(metadata, skidpad.__version__)


def test_all_addresses_are_of_one_home() -> None:
    source = PROJECT["urls"]["Source"]
    assert re.fullmatch(r"https://github\.com/[\w-]+/skidpad", source)
    for name in ("Issues", "Changelog"):
        assert PROJECT["urls"][name].startswith(f"{source}/")


def test_links_of_the_page_lead_to_the_tag() -> None:
    page = "[a](docs/a.md#b) ![p](p.png) [c](https://x.org) [d](#here) `f[0](1)`"
    assert package_readme.absolute_links(page, "https://h.org/s", "v1") == (
        "[a](https://h.org/s/blob/v1/docs/a.md#b) ![p](https://h.org/s/raw/v1/p.png) "
        "[c](https://x.org) [d](#here) `f[0](1)`"
    )


def test_a_tag_is_that_of_the_version_and_has_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(release.Fault, match=r"the tag is v9\.9, the version of the package"):
        release.check_tag("v9.9", skidpad.__version__)
    monkeypatch.setattr(release, "section", lambda version: ("unreleased", ""))
    with pytest.raises(release.Fault, match="a release has a date"):
        release.check_tag("v1.0", "1.0")
    monkeypatch.setattr(release, "section", lambda version: ("2026-11-30", ""))
    release.check_tag("v1.0", "1.0")


def test_the_changelog_has_a_section_for_the_notes() -> None:
    _, text = release.section(skidpad.__version__)
    assert text.startswith("### ")
    with pytest.raises(release.Fault, match=r"no section \[9\.9\]"):
        release.section("9.9")


def test_only_extras_ask_for_what_is_optional(wheel: Path) -> None:
    optional = release.optional_packages(release.metadata_of(wheel))
    assert {"matplotlib", "mcap", "box2d", "jax", "pytest"} <= optional
    assert not {"numpy", "casadi", "typer"} & optional


def base_distributions(*roots: str) -> dict[str, Any]:
    """What is installed here of the base dependencies, with all that these need."""
    known: dict[str, Any] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        try:
            known[name] = distribution(name)
        except PackageNotFoundError:  # for another system
            continue
        needed = [text for text in known[name].requires or [] if "extra ==" not in text]
        waiting += [re.split(r"[^\w.-]", text)[0].lower() for text in needed]
    return known


@pytest.mark.slow
def test_with_the_base_alone_the_quick_start_runs(wheel: Path, tmp_path: Path) -> None:
    """As `make release-check`, without an index: the base is linked from this environment.

    `test_extras.py` runs the base with all that is optional hidden, in less time.
    """
    home = tmp_path / "env"
    venv.create(home, symlinks=os.name != "nt")
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    answer = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    target = Path(answer.stdout.strip())
    roots = [re.split(r"[^\w.-]", text)[0] for text in PROJECT["dependencies"]]
    for one in base_distributions(*roots).values():
        for top in {file.parts[0] for file in one.files or [] if file.parts[0] != ".."}:
            if not (target / top).exists():
                (target / top).symlink_to(Path(str(one.locate_file(top))))
    zipfile.ZipFile(wheel).extractall(target)
    release.check_installed(python, tmp_path)
    missing = subprocess.run(
        [python, "-c", "import matplotlib"], capture_output=True, text=True, cwd=tmp_path
    )
    assert "ModuleNotFoundError" in missing.stderr
    assert sys.executable != str(python)
