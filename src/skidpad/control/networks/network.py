"""`Network`: a chain of layers, its evaluation, and the files it is read from.

Values are tuples of numbers, of arrays with one value per vehicle, or of symbols. Networks are read
from files of their own, from ONNX files (a chain of nodes from the first input to the first
output), and from state dicts of PyTorch, which can be read without PyTorch.

Layers of networks as pure functions of scalars, and as arrays of weights.

Weights are rows of numbers, which are constants in compiled code, or of symbols.
"""

from __future__ import annotations

import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr, bytes_of, listed, reading, replacing
from ...core.model import Constant
from ...errors import InvalidValue, require
from ...ops import exp, maximum, minimum, tanh, where

Values = tuple[Any, ...]
Rows = Sequence[Sequence[Any]]
"""Matrix as a sequence of rows, one row per output."""


def identity(x: Any) -> Any:
    return x


def relu(x: Any) -> Any:
    """Rectified linear unit: the larger of x and 0."""
    return maximum(x, 0.0)


def elu(x: Any) -> Any:
    """Exponential linear unit: x for x above 0, exp(x) - 1 below."""
    # Both branches are evaluated, so the exponential must not overflow where the result is x.
    return where(x > 0.0, x, exp(minimum(x, 0.0)) - 1.0)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), computed by the hyperbolic tangent, whose slope is finite everywhere."""
    return 0.5 + 0.5 * tanh(0.5 * x)


ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {
    "identity": identity, "tanh": tanh, "relu": relu, "elu": elu, "sigmoid": sigmoid,
}  # fmt: skip
"""Activations by name."""


def dense(weight: Rows, bias: Sequence[Any], values: Values) -> Values:
    """Dense layer without activation: weight · values + bias."""
    return tuple(_weighted_sum(row, b, values) for row, b in zip(weight, bias, strict=True))


class GruWeights(NamedTuple):
    """Weights of a gated recurrent unit, with PyTorch's names and order.

    The rows of reset gate, update gate and new state are stacked.
    """

    weight_ih: Rows
    """Weights of the inputs, (3 h, n)."""
    weight_hh: Rows
    """Weights of the hidden state, (3 h, h)."""
    bias_ih: Sequence[Any]
    """Bias of the inputs, (3 h,)."""
    bias_hh: Sequence[Any]
    """Bias of the hidden state, (3 h,)."""


def gru_cell(weights: GruWeights, values: Values, hidden: Values) -> Values:
    """Next hidden state of a gated recurrent unit, by the formula of PyTorch's `nn.GRUCell`.

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
    # The sum starts from the bias, so that every product becomes a fused multiply-add.
    for weight, value in zip(row, values, strict=True):
        bias = bias + weight * value
    return bias


Stepped = tuple[tuple[Any, ...], Sequence[Any]]
"""Outputs of a layer, and its next hidden state."""


class _Layer(Constant, ABC):
    """Base of the layers: named arrays of weights, in order."""

    @property
    @abstractmethod
    def arrays(self) -> Mapping[str, Array]:
        """Arrays of weights by name."""

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(array.size for array in self.arrays.values())

    @property
    def weight_names(self) -> tuple[str, ...]:
        """Names of the single weights, in order, such as `weight_1_0` and `bias_2`."""
        return tuple(
            "_".join((name, *map(str, place)))
            for name, array in self.arrays.items()
            for place in np.ndindex(array.shape)
        )

    def nested(self, weights: Sequence[Any] | None) -> list[Any]:
        """Arrays of the layer as lists of rows, filled with `weights` or, by default, its own
        values.
        """
        if weights is None:
            return [array.tolist() for array in self.arrays.values()]
        leaves = iter(weights)
        return [_filled(array.shape, leaves) for array in self.arrays.values()]


@dataclass(frozen=True, eq=False)
class Dense(_Layer):
    """Dense layer: activation(weight · values + bias)."""

    weight: Array
    """Weights, (out, in)."""
    bias: Array
    """Bias, (out,)."""
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
        """Weights by name: `weight` (out, in) and `bias` (out,)."""
        return {"weight": self.weight, "bias": self.bias}

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight.shape[1]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.weight.shape[0]

    def with_weights(self, vector: Array) -> Dense:
        """Layer with other weights (size,), in the order of its arrays."""
        weight, bias = map(np.array, self.nested(vector.tolist()))
        return Dense(weight, bias, self.activation)

    def step(self, values: Any, hidden: Any, weights: Sequence[Any] | None) -> Stepped:
        """Outputs of the layer for input values, with `weights` in place of its own if given."""
        weight, bias = self.nested(weights)
        return tuple(map(ACTIVATIONS[self.activation], dense(weight, bias, values))), ()

    def described(self) -> dict[str, Any]:
        """Description of the layer for a file, without its arrays."""
        return {"kind": "dense", "activation": self.activation}

    @classmethod
    def described_by(
        cls, what: str, description: Mapping[str, Any], array: Callable[[str], Any]
    ) -> Dense:
        """Layer from its description and its arrays by name."""
        return dense_of(what, array("weight"), array("bias"), description["activation"])


@dataclass(frozen=True, eq=False)
class Gru(_Layer):
    """Gated recurrent unit with PyTorch's formula and order of gates; see `gru_cell`."""

    weight_ih: Array
    """Weights of the inputs, (3 h, in)."""
    weight_hh: Array
    """Weights of the hidden state, (3 h, h)."""
    bias_ih: Array
    """Bias of the inputs, (3 h,)."""
    bias_hh: Array
    """Bias of the hidden state, (3 h,)."""

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
        """Weights by name: `weight_ih` (3 h, in), `weight_hh` (3 h, h), biases (3 h,)."""
        return {name: getattr(self, name) for name in GruWeights._fields}

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight_ih.shape[1]

    @property
    def outputs(self) -> int:
        """Number of outputs, equal to the size of the hidden state."""
        return self.weight_hh.shape[1]

    @property
    def hidden(self) -> int:
        """Size of the hidden state."""
        return self.outputs

    def with_weights(self, vector: Array) -> Gru:
        """Layer with other weights (size,), in the order of its arrays."""
        return Gru(*map(np.array, self.nested(vector.tolist())))

    def step(self, values: Any, hidden: Any, weights: Sequence[Any] | None) -> Stepped:
        """Next hidden state of the layer, with `weights` in place of its own if given."""
        following = gru_cell(GruWeights(*self.nested(weights)), values, hidden)
        return following, following

    def described(self) -> dict[str, Any]:
        """Description of the layer for a file, without its arrays."""
        return {"kind": "gru"}

    @classmethod
    def described_by(
        cls, what: str, description: Mapping[str, Any], array: Callable[[str], Any]
    ) -> Gru:
        """Layer from its description and its arrays by name."""
        with named(what):
            return cls(*(array(name) for name in GruWeights._fields))


Layer = Dense | Gru
KINDS: Mapping[str, type[Dense] | type[Gru]] = {"dense": Dense, "gru": Gru}


@contextmanager
def named(what: str) -> Generator[None]:
    """Context manager that prefixes error messages with the layer `what`."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{what}: {error}") from error


def dense_of(what: str, weight: Any, bias: Any, activation: str) -> Dense:
    """Dense layer from arrays; a missing bias is zero. `what` prefixes error messages."""
    with named(what):
        weight = _array("a dense layer", "weight", weight, 2)
        return Dense(weight, np.zeros(len(weight)) if bias is None else bias, activation)


def _array(what: str, name: str, value: Any, axes: int) -> Array:
    """Read-only copy of an array or a tensor with this number of axes."""
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


FORMAT = "skidpad-network"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class Network(Constant):
    """A neural network: layers in sequence, with an optional hidden state as argument and result.

    `network(values)` is the tuple of outputs; for a network with memory, such as one with a GRU,
    `network.step(values, hidden)` returns the outputs and the next hidden state.
    """

    layers: tuple[Layer, ...]
    """Layers, `Dense` and `Gru`, in order."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise InvalidValue("a network needs at least 1 layer, got none")
        for k, layer in enumerate(self.layers):
            if type(layer) not in KINDS.values():
                raise InvalidValue(
                    f"layer {k} of a network is {layer!r}; allowed are Dense and Gru"
                )
            if k and layer.inputs != self.layers[k - 1].outputs:
                raise InvalidValue(
                    f"layer {k} takes {layer.inputs} values, but layer {k - 1} gives "
                    f"{self.layers[k - 1].outputs}"
                )

    @classmethod
    def mlp(
        cls,
        weights: Sequence[Any],
        biases: Sequence[Any] | None = None,
        activation: str = "tanh",
        final: str = "identity",
    ) -> Network:
        """Network of dense layers, from matrices (out, in) and one bias (out,) each, or no biases
        if None.

        `activation` follows all but the last layer, `final` the last one.
        """
        if biases is not None and len(biases) != len(weights):
            raise InvalidValue(f"there are {len(weights)} weights, but {len(biases)} biases")
        parts = [(w, None if biases is None else biases[k]) for k, w in enumerate(weights)]
        return cls(
            tuple(
                dense_of(f"layer {k}", w, b, final if k == len(parts) - 1 else activation)
                for k, (w, b) in enumerate(parts)
            )
        )

    @classmethod
    def of_state_dict(
        cls,
        mapping: Mapping[str, Any],
        activation: str = "tanh",
        final: str = "identity",
        *,
        parts: Sequence[str] = (),
    ) -> Network:
        """Network from a state dict of PyTorch: names to tensors or arrays.

        Linear layers (`0.weight`, `net.2.bias`) and GRUs (`weight_ih_l0`, `cell.weight_ih`) are
        used in the order of the mapping. A state dict does not contain the activations:
        `activation` follows every linear layer but the last, `final` the last. `parts` are prefixes
        of names, in order, if only some layers are to be used: ("mlp_extractor.policy_net",
        "action_net") of Stable-Baselines3.
        """
        # Layers of a state dict in its order, or in the order of `parts`.
        if not isinstance(mapping, Mapping):
            raise InvalidValue(f"a state dict is a mapping of names to arrays, got {mapping!r:.80}")
        if isinstance(parts, str):
            raise InvalidValue(f"parts = {parts!r} must be a sequence of beginnings of names")
        groups = _in_order(_grouped(_chosen(mapping, parts)))
        if not groups:
            raise InvalidValue("the state dict is empty: it must have at least one layer")
        linear = [name for name, group in groups.items() if "weight" in group]
        layers: list[Layer] = []
        for name, group in groups.items():
            what = f"layer {len(layers)} ({name or 'without a name'})"
            if "weight" in group:
                follows = final if name == linear[-1] else activation
                weight = group["weight"]
                axes = np.ndim(weight) if not hasattr(weight, "ndim") else weight.ndim
                if axes != 2:
                    kind = _KINDS_BY_AXES.get(axes, "something")
                    raise InvalidValue(
                        f"{what}: weight has {axes} axes, as of {kind}; allowed are 2, (out, in) "
                        "of a linear layer"
                    )
                layers.append(dense_of(what, group["weight"], group.get("bias"), follows))
            else:
                layers += _recurrent(what, group)
        return cls(tuple(layers))

    @classmethod
    def of_onnx(cls, path: str | os.PathLike[str]) -> Network:
        """Network from an ONNX file: a chain of Gemm, or MatMul and Add, GRU and activations."""
        onnx = require("onnx", purpose="Network.of_onnx")
        content = bytes_of(path)
        with reading(path, "is no ONNX file"):
            graph = onnx.load_model_from_string(content).graph
        with reading(path, "has a graph that is not a chain of layers"):
            return cls(_Chain(onnx, graph).layers())

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.layers[0].inputs

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.layers[-1].outputs

    @property
    def hidden(self) -> int:
        """Size of the hidden state."""
        return sum(layer.hidden for layer in self.layers)

    @property
    def weights(self) -> Array:
        """All weights as one vector (n,): layer by layer, array by array, row by row."""
        return np.concatenate([a.ravel() for layer in self.layers for a in layer.arrays.values()])

    def with_weights(self, vector: Any) -> Network:
        """Network with the same layers and other weights (n,), in the order of `weights`."""
        values = np.asarray(vector, dtype=np.float64)
        count = sum(layer.size for layer in self.layers)
        if values.shape != (count,):
            raise InvalidValue(f"weights have shape {values.shape}; the network has ({count},)")
        layers: list[Layer] = []
        for layer in self.layers:
            layers.append(layer.with_weights(values[: layer.size]))
            values = values[layer.size :]
        return Network(tuple(layers))

    def __call__(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Outputs for values: numbers, arrays with one value per vehicle, or symbols."""
        if self.hidden:
            raise InvalidValue(
                f"this network has a hidden state of {self.hidden} numbers: call step(values, "
                "hidden)"
            )
        return self.step(values, ())[0]

    def step(
        self, values: Sequence[Any], hidden: Sequence[Any], weights: Sequence[Any] | None = None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Outputs for values and a hidden state, and the next hidden state.

        `weights` replace the network's own, in the same order.
        """
        now, remembered = tuple(values), tuple(hidden)
        if len(now) != self.inputs:
            raise InvalidValue(f"the network takes {self.inputs} values, got {len(now)}")
        if len(remembered) != self.hidden:
            raise InvalidValue(
                f"the hidden state of the network has {self.hidden} numbers, got {len(remembered)}"
            )
        following: list[Any] = []
        for layer in self.layers:
            own = None if weights is None else weights[: layer.size]
            weights = None if weights is None else weights[layer.size :]
            now, after = layer.step(now, remembered[: layer.hidden], own)
            remembered = remembered[layer.hidden :]
            following += after
        return now, tuple(following)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file for `load`, an .npz of NumPy."""
        layers = [layer.described() for layer in self.layers]
        meta = json.dumps({"format": FORMAT, "version": FORMAT_VERSION, "layers": layers})
        arrays = {
            f"{k}.{name}": array
            for k, layer in enumerate(self.layers)
            for name, array in layer.arrays.items()
        }
        with replacing(path) as temporary, Path(temporary).open("wb") as file:
            np.savez(file, meta=np.array(meta), **arrays)  # pyright: ignore[reportArgumentType]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Load a network from a file that `save` has written."""
        with reading(path, "is not a network file of skidpad"):
            with np.load(io.BytesIO(bytes_of(path)), allow_pickle=False) as data:
                arrays = {name: data[name] for name in data.files}
            meta = json.loads(str(arrays["meta"]))
            if meta["format"] != FORMAT or meta["version"] != FORMAT_VERSION:
                raise InvalidValue(
                    f"it has format {meta['format']!r}, version {meta['version']!r}; allowed is "
                    f"{FORMAT!r}, version {FORMAT_VERSION}"
                )
            return cls(
                tuple(
                    KINDS[description.pop("kind")].described_by(
                        f"layer {k}", description, lambda name, k=k: arrays[f"{k}.{name}"]
                    )
                    for k, description in enumerate(meta["layers"])
                )
            )


_ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu", "Elu": "elu", "Sigmoid": "sigmoid"}
_SHAPES = ("Identity", "Flatten", "Squeeze", "Unsqueeze", "Dropout", "Cast")
"""ONNX nodes that leave a single vector of numbers unchanged."""
_TURNED = ([1, 0, 2], [0, 2, 1, 3])
"""Permutations that swap the axes of time and batch, both of size 1, around a GRU."""


@dataclass
class _Chain:
    """Chain of nodes starting at the input, and the layers made from them so far."""

    onnx: Any
    graph: Any
    stack: list[Layer] = field(default_factory=list[Layer])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])

    def layers(self) -> tuple[Layer, ...]:
        numbers = self.onnx.numpy_helper.to_array
        self.constants = {i.name: numbers(i) for i in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = numbers(_attributes(self.onnx, node)["value"])
        now, end = self._first_input(), self.graph.output[0].name
        while now != end:
            node = self._reader_of(now)
            with named(_label(node)):
                self._take(node, now)
            now = self._following(node, end)
        if not self.stack:
            raise InvalidValue("there is no layer between input and output")
        return tuple(self.stack)

    def _first_input(self) -> str:
        names = [i.name for i in self.graph.input if i.name not in self.constants]
        if not names:
            raise InvalidValue("it has no input")
        return names[0]

    def _readers(self, value: str) -> list[Any]:
        # Nodes that only read the shape of a value are not part of the chain.
        return [n for n in self.graph.node if value in n.input and n.op_type != "Shape"]

    def _reader_of(self, value: str) -> Any:
        readers = self._readers(value)
        if len(readers) != 1:
            nodes = ", ".join(map(_label, readers)) or "no node"
            raise InvalidValue(f"value {value!r} goes to {nodes}; allowed is 1 node")
        return readers[0]

    def _following(self, node: Any, end: str) -> str:
        """Name of the node output that continues the chain; for a GRU, its sequence or its last
        state.
        """
        used = [o for o in node.output if o and (o == end or self._readers(o))]
        if not used:
            raise InvalidValue(f"{_label(node)}: none of its outputs is used")
        return used[0]

    def _take(self, node: Any, now: str) -> None:
        kind, attributes = node.op_type, _attributes(self.onnx, node)
        if kind in _SHAPES or (kind == "Transpose" and attributes.get("perm") in _TURNED):
            return
        if kind in _ACTIVATIONS:
            _check(attributes, "alpha", 1.0)
            self._activate(_ACTIVATIONS[kind])
            return
        makers: Mapping[str, Callable[[Any, Any, str], None]] = {
            "Gemm": self._gemm,
            "MatMul": self._product,
            "Add": self._sum,
            "GRU": self._gru,
        }
        if kind not in makers:
            allowed = ", ".join((*makers, *_ACTIVATIONS, *_SHAPES))
            raise InvalidValue(f"the operation {kind!r} is not known; allowed are {allowed}")
        makers[kind](node, attributes, now)

    def _activate(self, activation: str) -> None:
        last = self.stack[-1] if self.stack else None
        if isinstance(last, Dense) and last.activation == "identity":
            self.stack[-1] = replace(last, activation=activation)
            return
        if last is None:
            raise InvalidValue("there is no layer before it")
        # An activation without a dense layer before it, as after a GRU: add an identity layer to
        # carry it.
        one = np.eye(last.outputs)
        self.stack.append(Dense(one, np.zeros(last.outputs), activation))

    def _gemm(self, node: Any, attributes: Mapping[str, Any], now: str) -> None:
        for name, usual in (("alpha", 1.0), ("beta", 1.0), ("transA", 0)):
            _check(attributes, name, usual)
        if node.input[0] != now:
            raise InvalidValue("its first input must be the output of the previous node")
        weight = self._constant(node, 1)
        weight = weight if attributes.get("transB", 0) else weight.T
        bias = self._constant(node, 2).ravel() if len(node.input) > 2 else None
        if bias is not None and bias.size == 1:
            bias = np.repeat(bias, len(weight))
        self.stack.append(dense_of("it", weight, bias, "identity"))

    def _product(self, node: Any, attributes: Mapping[str, Any], now: str) -> None:
        if node.input[0] != now:
            raise InvalidValue("its first input must be the output of the previous node")
        self.stack.append(dense_of("it", self._constant(node, 1).T, None, "identity"))

    def _sum(self, node: Any, attributes: Mapping[str, Any], now: str) -> None:
        last = self.stack[-1] if self.stack else None
        if not isinstance(last, Dense) or last.activation != "identity":
            raise InvalidValue("it may only follow a MatMul, as its bias")
        added = self._constant(node, 1 if node.input[0] == now else 0).ravel()
        try:
            bias = last.bias + added
        except ValueError as error:
            raise InvalidValue(f"it adds {added.size} values to {last.outputs}") from error
        self.stack[-1] = replace(last, bias=bias)

    def _gru(self, node: Any, attributes: Mapping[str, Any], now: str) -> None:
        _check(attributes, "direction", "forward")
        if attributes.get("linear_before_reset", 0) != 1:
            raise InvalidValue(
                "linear_before_reset = 0 is another formula than PyTorch's; allowed is 1"
            )
        if attributes.get("clip") or attributes.get("activations", ["Sigmoid", "Tanh"]) != [
            "Sigmoid",
            "Tanh",
        ]:
            raise InvalidValue("clip and activations other than Sigmoid and Tanh are not known")
        weight_ih, weight_hh = (_reset_first(self._constant(node, k)[0]) for k in (1, 2))
        rows = len(weight_hh)
        has_bias = len(node.input) > 3 and node.input[3]
        biases = self._constant(node, 3)[0] if has_bias else np.zeros(2 * rows)
        start = self.constants.get(node.input[5]) if len(node.input) > 5 else None
        if start is not None and np.any(start):
            raise InvalidValue("its hidden state does not start at 0")
        halves = map(_reset_first, (biases[:rows], biases[rows:]))
        self.stack.append(Gru(weight_ih, weight_hh, *halves))

    def _constant(self, node: Any, place: int) -> Array:
        name = node.input[place] if place < len(node.input) else ""
        if name not in self.constants:
            raise InvalidValue(f"its input {place} ({name!r}) must be a constant of the file")
        return self.constants[name]


def _reset_first(rows: Array) -> Array:
    """Rows of gates reordered from z, r, n (ONNX) to r, z, n (PyTorch)."""
    if len(rows) % 3:
        raise InvalidValue(f"it has {len(rows)} rows of gates; allowed are 3 h")
    update, reset, new = np.split(rows, 3)
    return np.concatenate([reset, update, new])


def _attributes(onnx: Any, node: Any) -> dict[str, Any]:
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _check(attributes: Mapping[str, Any], name: str, allowed: Any) -> None:
    value = attributes.get(name, allowed)
    if value != allowed:
        raise InvalidValue(f"{name} = {value!r}; allowed is {allowed!r}")


def _label(node: Any) -> str:
    return f"node {node.name or node.output[0]!r} ({node.op_type})"


_KINDS_BY_AXES = {1: "a normalisation", 3: "a convolution", 4: "a convolution"}
_RECURRENT = re.compile(r"(weight|bias)_(ih|hh)(?:_l(\d+))?(_reverse)?")
_ALLOWED = (
    "allowed are weight and bias of linear layers, and weight_ih, weight_hh, bias_ih and bias_hh "
    "of GRUs, of which each may end in _l0, _l1, ...; give parts=(...) where not all are meant"
)


def _chosen(mapping: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    """Entries of a state dict whose names begin with one of `parts`, in the order of `parts`."""
    if not parts:
        return dict(mapping)
    chosen: dict[str, Any] = {}
    for part in parts:
        matches = {n: a for n, a in mapping.items() if n == part or n.startswith(f"{part}.")}
        if not matches:
            raise InvalidValue(
                f"parts: no name of the state dict begins with {part!r}; "
                f"it has {listed([*mapping])}"
            )
        chosen |= matches
    return chosen


def _grouped(mapping: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Entries of a state dict grouped by layer, in order."""
    groups: dict[str, dict[str, Any]] = {}
    for name, array in mapping.items():
        owner, _, leaf = str(name).rpartition(".")
        recurrent = _RECURRENT.fullmatch(leaf)
        if recurrent is None and leaf not in ("weight", "bias"):
            raise InvalidValue(f"{name!r} of the state dict is not a weight of a layer; {_ALLOWED}")
        if recurrent is not None and recurrent[4]:
            raise InvalidValue(
                f"{name!r} of the state dict belongs to a bidirectional GRU; a policy knows only "
                "the past"
            )
        groups.setdefault(owner, {})[leaf] = array
    for owner, group in groups.items():
        if "bias" in group and "weight" not in group:
            raise InvalidValue(f"layer {owner!r} of the state dict has a bias but no weight")
        if "weight" in group and len(group) > 1 + ("bias" in group):
            raise InvalidValue(f"layer {owner!r} of the state dict has {listed([*group])}")
    return groups


def _in_order(groups: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Groups of entries in the order of the mapping, except that members of an `nn.Sequential` are
    sorted by number.

    A mapping may be sorted by name, with 10 before 2.
    """
    places = [re.fullmatch(r"(.*?)(\d+)", name) for name in groups]
    if any(place is None for place in places) or len({p[1] for p in places if p}) != 1:
        return groups
    numbers = {name: int(p[2]) for name, p in zip(groups, places, strict=True) if p}
    return {name: groups[name] for name in sorted(groups, key=numbers.__getitem__)}


def _recurrent(what: str, group: Mapping[str, Any]) -> list[Layer]:
    """Layers of an `nn.GRU`, or the single layer of an `nn.GRUCell`."""
    by_level: dict[int, dict[str, Any]] = {}
    for leaf, array in group.items():
        place = _RECURRENT.fullmatch(leaf)
        assert place is not None
        by_level.setdefault(int(place[3] or 0), {})[f"{place[1]}_{place[2]}"] = array
    layers: list[Layer] = []
    for level in sorted(by_level):
        arrays = by_level[level]
        for name in ("weight_ih", "weight_hh"):
            if name not in arrays:
                raise InvalidValue(f"{what}: there is no {name} for level {level}")
        rows = len(arrays["weight_hh"])
        biases = [arrays.get(name, np.zeros(rows)) for name in ("bias_ih", "bias_hh")]
        with named(what):
            layers.append(Gru(arrays["weight_ih"], arrays["weight_hh"], *biases))
    return layers
