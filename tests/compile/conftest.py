"""The compiler is tested as users have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

OTHER_TARGETS = ("test_cuda_text", "test_called_vehicles")
"""Files of tests that compare with LLVM what others write; LLVM itself is tested elsewhere."""


@pytest.fixture(autouse=True, scope="module")
def usual_effort(request: pytest.FixtureRequest) -> Iterator[None]:
    """Other tests compile with little effort: see `tests/conftest.py`."""
    if request.path.stem in OTHER_TARGETS:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIDPAD_OPTIMISATION", "2")
        yield
