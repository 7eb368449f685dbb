"""Layers of networks as pure functions of scalars, built from `skidpad.ops`.

Values are tuples of numbers, of arrays with a value per vehicle, or of symbols. Weights are rows of
numbers, which compiled code then holds as constants, or of symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..ops import exp, maximum, minimum, tanh, where

__all__ = ["ACTIVATIONS", "GruWeights", "dense", "elu", "gru_cell", "identity", "relu", "sigmoid"]

Values = tuple[Any, ...]
Rows = Sequence[Sequence[Any]]
"""A matrix, row by row: a row for each value that comes out."""


def identity(x: Any) -> Any:
    """x itself."""
    return x


def relu(x: Any) -> Any:
    """The larger one of x and 0."""
    return maximum(x, 0.0)


def elu(x: Any) -> Any:
    """x above 0, exp(x) - 1 below."""
    # Both sides are evaluated, so the exponential must not overflow where x counts.
    return where(x > 0.0, x, exp(minimum(x, 0.0)) - 1.0)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), by the hyperbolic tangent: that has a finite slope everywhere."""
    return 0.5 + 0.5 * tanh(0.5 * x)


ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {
    "identity": identity,
    "tanh": tanh,
    "relu": relu,
    "elu": elu,
    "sigmoid": sigmoid,
}
"""Activations by name."""


def dense(weight: Rows, bias: Sequence[Any], values: Values) -> Values:
    """weight · values + bias."""
    return tuple(_weighted_sum(row, b, values) for row, b in zip(weight, bias, strict=True))


class GruWeights(NamedTuple):
    """The weights of a gated recurrent unit, by PyTorch's names and in its order: the rows of the
    reset gate, of the update gate and of the new state, below each other."""

    weight_ih: Rows
    """(3 h, n), of the values that come in."""
    weight_hh: Rows
    """(3 h, h), of the hidden state."""
    bias_ih: Sequence[Any]
    """(3 h,)"""
    bias_hh: Sequence[Any]
    """(3 h,)"""


def gru_cell(weights: GruWeights, values: Values, hidden: Values) -> Values:
    """The next hidden state, by the formula of PyTorch's `nn.GRUCell`.

    r = σ(W_ir x + b_ir + W_hr h + b_hr), z = σ(W_iz x + b_iz + W_hz h + b_hz),
    n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h' = (1 - z) n + z h.
    """
    size = len(hidden)
    of_input = dense(weights.weight_ih, weights.bias_ih, values)
    of_hidden = dense(weights.weight_hh, weights.bias_hh, hidden)
    following: list[Any] = []
    for k, h in enumerate(hidden):
        reset = sigmoid(of_input[k] + of_hidden[k])
        update = sigmoid(of_input[size + k] + of_hidden[size + k])
        new = tanh(of_input[2 * size + k] + reset * of_hidden[2 * size + k])
        following.append(new + update * (h - new))
    return tuple(following)


def _weighted_sum(row: Sequence[Any], bias: Any, values: Values) -> Any:
    # From the bias on, so that every product becomes a fused multiply-add.
    for weight, value in zip(row, values, strict=True):
        bias = bias + weight * value
    return bias
