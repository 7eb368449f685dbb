"""`Estimate`: values with a covariance, of one moment or of a whole log."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import between, floats
from ...errors import InvalidValue


class Moments(NamedTuple):
    """Numbers of an estimate; the leading axes are time and, for a fleet, vehicle."""

    values: Array
    """(..., n)"""
    covariances: Array
    """(..., n, n)"""
    simulated: Array
    """States that are simulated only, (..., r)."""
    innovations: Array
    """Measurement minus prediction, (..., m); NaN where there was no measurement."""
    scores: Array
    """Innovations in standard deviations, each after the measurements before it, (..., m)."""

    def only_measured(self, inputs: Array) -> Moments:
        """Replace innovations and scores of missing measurements by NaN.

        The moments (T + 1, ...) are those along `inputs` (T, ..., nu + 2 m) of a filter; there is
        no measurement at the first.
        """
        there = np.asarray(inputs)[..., -self.scores.shape[-1] :] > 0.0
        there = np.concatenate([np.zeros_like(there[:1]), there])
        parts = (np.where(there, part, np.nan) for part in (self.innovations, self.scores))
        return self._replace(**dict(zip(("innovations", "scores"), parts, strict=True)))


class Estimate:
    """Estimated states and parameters with their uncertainty.

    The leading axes of all arrays are those of the states it was made from: none for one moment,
    (T + 1,) for a log, (T + 1, B) for a fleet.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        measured: tuple[str, ...],
        moments: Callable[[], Moments],
        t: Array | float,
    ) -> None:
        self.names, self.measured, self.t = names, measured, t
        self._made = moments
        self.notes: tuple[str, ...] = ()
        """What was done with the channels of a log; see `skidpad.control.estimators.estimate`."""

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the numbers, not the function that makes them."""
        return {**vars(self), "moments": self.moments, "_made": None}

    def __repr__(self) -> str:
        if np.ndim(self.t):
            span = np.asarray(self.t)
            return f"<Estimate of {', '.join(self.names)} at {span.size} times to {span[-1]:g} s>"
        pairs = zip(self.names, self.values, self.deviations, strict=True)
        return f"<Estimate: {', '.join(f'{n} = {v:.4g} ± {s:.2g}' for n, v, s in pairs)}>"

    @cached_property
    def moments(self) -> Moments:
        """Values, covariances, innovations and scores."""
        return self._made()

    @property
    def values(self) -> Array:
        """Estimated values (..., n), in the order of `names`."""
        return self.moments.values

    @property
    def covariances(self) -> Array:
        """Covariances (..., n, n)."""
        return self.moments.covariances

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations (..., n)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=-2, axis2=-1))

    @property
    def innovations(self) -> Array:
        """Measurement minus prediction (..., m), in the order of `measured`; NaN if missing."""
        return self.moments.innovations

    @property
    def nis(self) -> Array:
        """Normalised innovation squared (...,): the sum of the squared scores.

        It is chi-square distributed with `degrees` degrees of freedom if the noise is as declared.
        """
        return np.nansum(self.moments.scores**2, axis=-1)

    @property
    def degrees(self) -> Array:
        """Number of measurements in each update (...,)."""
        return np.isfinite(self.moments.scores).sum(axis=-1)

    def __getitem__(self, name: str) -> Array:
        """Values of one estimated state or parameter (...,)."""
        return self.values[..., self._place(name)]

    def deviation(self, name: str) -> Array:
        """Standard deviation of one estimated state or parameter (...,)."""
        return self.deviations[..., self._place(name)]

    def interval(self, name: str, level: float = 0.95) -> tuple[Array, Array]:
        """Ends (...,), (...,) of the interval that contains the value with probability `level`."""
        from scipy.special import ndtri

        reach = ndtri(0.5 + 0.5 * between("level", level, 0.0, 1.0))
        middle, far = self[name], reach * self.deviation(name)
        return middle - far, middle + far

    def nees(self, truth: Any) -> Array:
        """Normalised estimation error squared (...,) for true values (..., n).

        It is chi-square distributed with n degrees of freedom if the estimator is consistent.
        """
        true = floats("truth", truth)
        if true.shape != self.values.shape:
            raise InvalidValue(
                f"truth has shape {true.shape}; expected {self.values.shape} for "
                f"{', '.join(self.names)}"
            )
        error = true - self.values
        return (error * np.linalg.solve(self.covariances, error[..., None])[..., 0]).sum(axis=-1)

    def _place(self, name: str) -> int:
        record.check_names("this estimate", (name,), self.names, "name")
        return self.names.index(name)
