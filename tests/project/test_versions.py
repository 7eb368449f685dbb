"""What the page of versions says is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from skidpad.compile import plant, program
from skidpad.control.networks import network
from skidpad.learn import saved_task
from skidpad.run import trajectory_table
from skidpad.study import folder
from skidpad.study.manoeuvres import evaluation
from skidpad.view import recording
from skidpad.view.recording import topics

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "installation.md").read_text("utf-8")
FORMATS = {
    "recording": topics.FORMAT,
    "trajectory": trajectory_table.FORMAT,
    "program": program.FORMAT_VERSION,
    "plant": plant.FORMAT_VERSION,
    "network": network.FORMAT_VERSION,
    "task": saved_task.VERSION,
    "folder of a campaign": folder.FORMAT,
    "results of the proving ground": evaluation.VERSION,
}


def test_the_formats_are_those_written() -> None:
    rows = re.findall(r"^\| ([\w ]+?)(?:, `\.\w+`)? \| .* \| (\d+) \|$", PAGE, re.M)
    assert {name: int(number) for name, number in rows} == FORMATS


def test_the_oldest_recording_kept_can_be_read() -> None:
    oldest = ROOT / "tests" / "data" / "recordings" / "format_1.mcap"
    assert recording.info(oldest).format == 1
    assert recording.read(oldest)


def deprecations(source: str) -> list[ast.Call]:
    """Calls of `warn` with `DeprecationWarning` among their arguments."""
    return [
        call
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) == "warn"
        and any(getattr(one, "id", "") == "DeprecationWarning" for one in ast.walk(call))
    ]


def test_the_page_knows_whether_something_is_deprecated() -> None:
    """The page says that nothing is, for as long as nothing in the package warns."""
    assert len(deprecations("import warnings\nwarnings.warn('old', DeprecationWarning)")) == 1
    warned = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if "DeprecationWarning" in (text := path.read_text("utf-8")) and deprecations(text)
    ]
    assert ("At present no feature is deprecated" in PAGE) == (not warned)


FIRST_PAGES = ["README.md", "docs/index.md", "docs/getting_started.md", "docs/installation.md"]
FROM_A_CLONE = re.compile(r"^(make \w+|pip install -e \S+)", re.MULTILINE)
FROM_THE_INDEX = re.compile(r"pip install \"?skidpad")


def released(changes: str) -> bool:
    """Whether a version of the list of changes has a date."""
    return re.search(r"^## \[\d+\.\d+\.\d+\] - \d{4}", changes, re.MULTILINE) is not None


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_pages_that_people_meet_first_begin_with_what_installs_today(page: str) -> None:
    """From a clone until there is a release; then from the package index."""
    text = (ROOT / page).read_text("utf-8")
    clone, index = FROM_A_CLONE.search(text), FROM_THE_INDEX.search(text)
    assert clone is not None
    assert index is not None
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, second = (index, clone) if released(changes) else (clone, index)
    assert first.start() < min(1000, second.start())
    assert ("no release yet" in text) == (not released(changes))


def test_a_release_is_known_by_its_date() -> None:
    assert not released("## [0.1.0] - unreleased")
    assert released("## [0.2.0] - unreleased\n\n## [0.1.0] - 2026-12-01")
