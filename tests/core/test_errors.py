"""The exceptions: one family, each also the built-in kind a caller may expect."""

from __future__ import annotations

import pickle

import pytest

import skidpad as sp
from skidpad import errors


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (sp.InvalidValue, ValueError),
        (sp.TraceError, TypeError),
        (sp.UnknownOperation, sp.TraceError),
        (sp.MissingExtra, ImportError),
        (sp.StepNotConverged, ArithmeticError),
        (sp.SimulationDiverged, ArithmeticError),
    ],
)
def test_family(kind: type, builtin: type) -> None:
    assert issubclass(kind, sp.SkidpadError)
    assert issubclass(kind, builtin)


@pytest.mark.parametrize(
    "error",
    [
        errors.SimulationDiverged("gone", time=1.5, last_state=(1.0, 2.0), vehicles=(3, 4)),
        errors.StepNotConverged("stuck", time=0.5, residual=2.0),
        errors.InvalidValue("bad"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_they_survive_pickling(error: Exception) -> None:
    """They cross process borders, as in a pool of workers."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
