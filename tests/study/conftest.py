"""Where campaigns are kept in these tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def unsynced() -> Iterator[None]:
    """Nobody cuts the power here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(params=["local", "memory"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://folders/{uuid.uuid4().hex}"
    return str(tmp_path / "deep" / "campaign")
