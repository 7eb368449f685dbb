"""What continuous integration does is what the Makefile and the metadata promise."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS: dict[str, Any] = {file.stem: yaml.safe_load(file.read_text("utf-8")) for file in FILES}
SYSTEMS = {
    "ubuntu-latest": "Operating System :: POSIX :: Linux",
    "macos-latest": "Operating System :: MacOS",
    "windows-latest": "Operating System :: Microsoft :: Windows",
}


def triggers(workflow: dict[Any, Any]) -> Any:
    """What starts it: YAML 1.1 reads the key `on` as true."""
    return workflow[True]


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def test_there_is_a_workflow_for_each_occasion() -> None:
    assert set(WORKFLOWS) == {"ci", "docs", "release", "weekly"}
    assert "pull_request" in triggers(WORKFLOWS["ci"])
    assert triggers(WORKFLOWS["release"]) == {"push": {"tags": ["v*"]}}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_make_target_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    commands = [step["run"] for step in steps(WORKFLOWS[name]) if "run" in step]
    named = {target for run in commands for target in re.findall(r"\bmake ([a-z-]+)", run)}
    assert named <= targets
    assert named or any("uses" in job for job in WORKFLOWS[name]["jobs"].values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_and_no_job_has_more_rights_than_it_needs(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        own = action.startswith("./.github/workflows/")
        assert own or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", action), action
        assert own or re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
        assert not own or (ROOT / action).is_file()
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    for job in WORKFLOWS[name]["jobs"].values():
        assert "uses" in job or "timeout-minutes" in job


def test_what_the_classifiers_promise_must_pass() -> None:
    test = WORKFLOWS["ci"]["jobs"]["test"]
    matrix, free = test["strategy"]["matrix"], test["continue-on-error"]
    excused = set(re.findall(r"'([\d.]+)'", free))
    promised = set(PROJECT["classifiers"])
    assert {SYSTEMS[system] for system in matrix["os"]} == {
        one for one in promised if one.startswith("Operating System ::")
    }
    versions = {f"Programming Language :: Python :: {one}" for one in matrix["python"]}
    allowed = {f"Programming Language :: Python :: {one}" for one in excused}
    listed = {one for one in promised if re.search(r"Python :: 3\.\d+$", one)}
    assert listed == versions - allowed
    oldest = min(matrix["python"], key=lambda one: int(one.split(".")[1]))
    assert PROJECT["requires-python"] == f">={oldest}"


def test_a_release_is_tested_built_once_signed_and_published_without_a_password() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert jobs["build"]["needs"] == "test"
    assert jobs["publish"]["needs"] == "build"
    # The job that talks to the index has no rights but to say who it is.
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert {"id-token", "attestations"} <= set(jobs["build"]["permissions"])
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert "attest-build-provenance@" in text
    assert "gh-action-pypi-publish@" in text
    assert "secrets." not in text
    builds = [
        step for step in steps(WORKFLOWS["release"]) if "release-check" in step.get("run", "")
    ]
    assert len(builds) == 1
    assert "--tag $GITHUB_REF_NAME" in builds[0]["run"]
