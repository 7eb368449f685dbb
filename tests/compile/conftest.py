"""The compiler is tested as users have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def usual_effort() -> Iterator[None]:
    """Other tests compile with little effort: see `tests/conftest.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIDPAD_OPTIMISATION", "2")
        yield
