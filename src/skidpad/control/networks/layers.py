"""Layers of networks as pure functions of scalars, and as arrays of weights.

Weights are rows of numbers, which compiled code then holds as constants, or of symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.model import Constant
from ...errors import InvalidValue
from ...ops import exp, maximum, minimum, tanh, where

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


Stepped = tuple[tuple[Any, ...], Sequence[Any]]
"""What comes out, and the next hidden state."""


class _Layer(Constant):
    """What all kinds have: arrays of weights by name, in order."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights by name."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum(array.size for array in self.arrays.values())

    @property
    def weight_names(self) -> tuple[str, ...]:
        """A name for each weight, in order: `weight_1_0`, `bias_2`."""
        return tuple(
            "_".join((name, *map(str, place)))
            for name, array in self.arrays.items()
            for place in np.ndindex(array.shape)
        )

    def nested(self, weights: Sequence[Any] | None) -> list[Any]:
        """The arrays as lists of rows, of these weights or the layer's own."""
        if weights is None:
            return [array.tolist() for array in self.arrays.values()]
        leaves = iter(weights)
        return [_filled(array.shape, leaves) for array in self.arrays.values()]


@dataclass(frozen=True, eq=False)
class Dense(_Layer):
    """activation(weight · values + bias)."""

    weight: Array
    """(out, in)"""
    bias: Array
    """(out,)"""
    activation: str = "identity"
    """One of `ACTIVATIONS`."""

    hidden: ClassVar[int] = 0
    __repr__ = brief_repr

    def __post_init__(self) -> None:
        what = "a dense layer"
        _keep(self, "weight", _array(what, "weight", self.weight, 2))
        _keep(self, "bias", _array(what, "bias", self.bias, 1))
        _check_shape(what, "bias", self.bias, (self.outputs,))
        if self.activation not in ACTIVATIONS:
            raise InvalidValue(
                f"{what}: activation = {self.activation!r} is unknown; allowed are "
                f"{', '.join(ACTIVATIONS)}"
            )

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights by name: `weight` (out, in) and `bias` (out,)."""
        return {"weight": self.weight, "bias": self.bias}

    @property
    def inputs(self) -> int:
        """How many values it takes."""
        return self.weight.shape[1]

    @property
    def outputs(self) -> int:
        """How many values it gives."""
        return self.weight.shape[0]

    def with_weights(self, vector: Array) -> Dense:
        """The layer with other weights (size,), in the order of its arrays."""
        weight, bias = map(np.array, self.nested(vector.tolist()))
        return Dense(weight, bias, self.activation)

    def step(self, values: Any, hidden: Any, weights: Sequence[Any] | None) -> Stepped:
        """What comes out, with these weights or its own."""
        weight, bias = self.nested(weights)
        return tuple(map(ACTIVATIONS[self.activation], dense(weight, bias, values))), ()

    def described(self) -> dict[str, Any]:
        """What a file has of it besides its arrays."""
        return {"kind": "dense", "activation": self.activation}

    @classmethod
    def described_by(
        cls, what: str, description: Mapping[str, Any], array: Callable[[str], Any]
    ) -> Dense:
        """The layer of a description and its arrays by name."""
        return dense_of(what, array("weight"), array("bias"), description["activation"])


@dataclass(frozen=True, eq=False)
class Gru(_Layer):
    """A gated recurrent unit with PyTorch's formula and order of gates; see `gru_cell`."""

    weight_ih: Array
    """(3 h, in)"""
    weight_hh: Array
    """(3 h, h)"""
    bias_ih: Array
    """(3 h,)"""
    bias_hh: Array
    """(3 h,)"""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        what = "a GRU"
        for name, axes in (("weight_ih", 2), ("weight_hh", 2), ("bias_ih", 1), ("bias_hh", 1)):
            _keep(self, name, _array(what, name, getattr(self, name), axes))
        rows, h = self.weight_hh.shape
        if rows != 3 * h:
            raise InvalidValue(
                f"{what}: weight_hh has shape {self.weight_hh.shape}; allowed is (3 h, h), "
                "the gates r, z, n below each other (4 h rows are those of an LSTM)"
            )
        _check_shape(what, "weight_ih", self.weight_ih, (rows, self.inputs))
        _check_shape(what, "bias_ih", self.bias_ih, (rows,))
        _check_shape(what, "bias_hh", self.bias_hh, (rows,))

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights by name: `weight_ih` (3 h, in), `weight_hh` (3 h, h), biases (3 h,)."""
        return {name: getattr(self, name) for name in GruWeights._fields}

    @property
    def inputs(self) -> int:
        """How many values it takes."""
        return self.weight_ih.shape[1]

    @property
    def outputs(self) -> int:
        """How many values it gives: its hidden state."""
        return self.weight_hh.shape[1]

    @property
    def hidden(self) -> int:
        """How many numbers it remembers."""
        return self.outputs

    def with_weights(self, vector: Array) -> Gru:
        """The layer with other weights (size,), in the order of its arrays."""
        return Gru(*map(np.array, self.nested(vector.tolist())))

    def step(self, values: Any, hidden: Any, weights: Sequence[Any] | None) -> Stepped:
        """The next hidden state, with these weights or its own."""
        following = gru_cell(GruWeights(*self.nested(weights)), values, hidden)
        return following, following

    def described(self) -> dict[str, Any]:
        """What a file has of it besides its arrays."""
        return {"kind": "gru"}

    @classmethod
    def described_by(
        cls, what: str, description: Mapping[str, Any], array: Callable[[str], Any]
    ) -> Gru:
        """The layer of a description and its arrays by name."""
        with named(what):
            return cls(*(array(name) for name in GruWeights._fields))


Layer = Dense | Gru
KINDS: Mapping[str, type[Dense] | type[Gru]] = {"dense": Dense, "gru": Gru}


@contextmanager
def named(what: str) -> Generator[None]:
    """Errors within begin with which layer it is."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{what}: {error}") from error


def dense_of(what: str, weight: Any, bias: Any, activation: str) -> Dense:
    """A dense layer; without a bias it is zero. Errors begin with what it is."""
    with named(what):
        weight = _array("a dense layer", "weight", weight, 2)
        return Dense(weight, np.zeros(len(weight)) if bias is None else bias, activation)


def _array(what: str, name: str, value: Any, axes: int) -> Array:
    """A read-only copy of an array or a tensor."""
    if hasattr(value, "detach"):  # a tensor of PyTorch, perhaps on a GPU or in half precision
        value = value.detach().cpu().double().numpy()
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{what}: {name} must be an array of numbers, got {value!r:.80}") from (
            error
        )
    if array.ndim != axes or not array.size:
        allowed = {1: "(n,)", 2: "(rows, columns)"}[axes]
        raise InvalidValue(
            f"{what}: {name} has shape {array.shape}; allowed is {allowed}, none of them 0"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise InvalidValue(f"{what}: {name}{[*place]} is {array[place]}; it must be finite")
    array.flags.writeable = False
    return array


def _check_shape(what: str, name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InvalidValue(f"{what}: {name} has shape {array.shape}; allowed is {shape}")


def _keep(layer: Any, name: str, value: Any) -> None:
    object.__setattr__(layer, name, value)


def _filled(shape: tuple[int, ...], leaves: Any) -> list[Any]:
    if len(shape) == 1:
        return [*islice(leaves, shape[0])]
    return [_filled(shape[1:], leaves) for _ in range(shape[0])]
