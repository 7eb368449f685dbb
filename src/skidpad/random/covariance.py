"""Covariance matrices: checked, and taken to pieces.

Everything is done on the correlations, since values may differ in scale by many orders: metres
beside milliradians.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import shown
from ..errors import InvalidValue
from .vectors import Shape, read_only

_SLACK = 1e-10
"""Asymmetry and negative eigenvalues of the correlations that count as rounding."""
_NOTHING = 1e-14
"""A variance left over that counts as none, relative to that of the value."""


def factor_of(shape: Shape, values: Any) -> tuple[Array, Array]:
    """The covariance and a matrix L with L Lᵀ equal to it; raises unless there is one.

    Singular matrices are allowed: values that are certain, or tied to others.
    """
    matrix = _checked(shape, values)
    variances = np.diag(matrix)
    shape.require("the diagonal of covariance", variances, variances >= 0.0, "at least 0")
    scale = np.sqrt(variances)
    # A value without variance has no correlations: whatever stands there is held against 1.
    each = np.where(scale > 0.0, scale, 1.0)
    correlation = matrix / np.outer(each, each)
    _check_symmetric(matrix, correlation)
    correlation = 0.5 * (correlation + correlation.T)
    smallest = float(np.linalg.eigvalsh(correlation)[0]) if len(matrix) else 0.0
    if smallest < -_SLACK:
        raise InvalidValue(
            f"covariance is not positive semi-definite: its correlations have the eigenvalue "
            f"{smallest:g}; all must be at least 0"
        )
    factor = each[:, None] * _cholesky(correlation)
    return read_only(0.5 * (matrix + matrix.T)), read_only(factor)


def _checked(shape: Shape, values: Any) -> Array:
    try:
        matrix = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"covariance = {shown(values)} must be a matrix of numbers") from None
    if matrix.shape != (shape.dim, shape.dim):
        raise InvalidValue(
            f"covariance has shape {matrix.shape}; allowed is ({shape.dim}, {shape.dim})"
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidValue(f"covariance[{i}, {j}] = {matrix[i, j]} must be finite")
    return matrix


def _check_symmetric(matrix: Array, correlation: Array) -> None:
    apart = np.abs(correlation - correlation.T)
    if apart.max(initial=0.0) > _SLACK:
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise InvalidValue(
            f"covariance[{i}, {j}] = {matrix[i, j]:g} and covariance[{j}, {i}] = {matrix[j, i]:g} "
            "must be equal: a covariance is symmetric"
        )


def _cholesky(matrix: Array) -> Array:
    """L with L Lᵀ = matrix, rows and columns taken in the order of what is left of the diagonal.

    Written out, since a library's factor of a singular matrix fails or depends on the machine. The
    largest pivot first: then all that is left at the end is below the last pivot.
    """
    n = len(matrix)
    factor = np.zeros((n, n))
    left = matrix.copy()
    for k in range(n):
        pivot = int(np.diag(left).argmax())
        if left[pivot, pivot] <= _NOTHING:
            break
        factor[:, k] = left[:, pivot] / np.sqrt(left[pivot, pivot])
        left -= np.outer(factor[:, k], factor[:, k])
        left[pivot, :] = left[:, pivot] = 0.0
    return factor
