"""Notebooks are kept without results, and their code runs."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells(notebook: Path, kind: str) -> list[dict[str, Any]]:
    content = json.loads(notebook.read_text("utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def code(notebook: Path) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in cells(notebook, "code")) + "\n"


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 2


@each
def test_a_notebook_is_kept_without_results(notebook: Path) -> None:
    content = json.loads(notebook.read_text("utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in cells(notebook, "code"):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@each
def test_a_notebook_begins_with_its_title_and_its_code_is_python(notebook: Path) -> None:
    assert "".join(cells(notebook, "markdown")[0]["source"]).startswith("# ")
    assert ast.parse(code(notebook)).body
    assert len(code(notebook).splitlines()) < 100


@pytest.mark.slow
@each
def test_the_code_of_a_notebook_runs(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / f"{notebook.stem}.py"
    program.write_text(code(notebook), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert runpy.run_path(str(program), run_name="__main__")
