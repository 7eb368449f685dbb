"""`Network`: layers of weights as arrays, and its outputs for values.

Values are tuples of numbers, of arrays with a value per vehicle, or of symbols.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr, bytes_of, reading, replacing
from ...core.model import Constant
from ...errors import InvalidValue
from .layers import KINDS, Layer, dense_of

FORMAT = "skidpad-network"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class Network(Constant):
    """Layers one after the other; what it remembers, if anything, comes in and goes out.

    `network(values)` is a tuple of the values that come out; of a network with memory, as one with
    a GRU, `network.step(values, hidden)` is these and the next hidden state.
    """

    layers: tuple[Layer, ...]
    """`Dense` and `Gru`, in order."""

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
        """Dense layers from matrices (out, in), one bias (out,) for each, none if None.

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
        """A network from a state dict of PyTorch: names to tensors or arrays.

        Linear layers (`0.weight`, `net.2.bias`) and GRUs (`weight_ih_l0`, `cell.weight_ih`), in the
        order of the mapping. It does not say what comes between them: `activation` follows every
        linear layer but the last, `final` that one. `parts` are beginnings of names, in order,
        where not all are meant: ("mlp_extractor.policy_net", "action_net") of Stable-Baselines3.
        """
        from .files import state_dict_layers_of

        return cls(state_dict_layers_of(mapping, activation, final, parts))

    @classmethod
    def of_onnx(cls, path: str | os.PathLike[str]) -> Network:
        """A network from an ONNX file: a chain of Gemm, or MatMul and Add, GRU and activations."""
        from .files import layers_of

        return cls(layers_of(path))

    @property
    def inputs(self) -> int:
        """How many values it takes."""
        return self.layers[0].inputs

    @property
    def outputs(self) -> int:
        """How many values it gives."""
        return self.layers[-1].outputs

    @property
    def hidden(self) -> int:
        """How many numbers it remembers."""
        return sum(layer.hidden for layer in self.layers)

    @property
    def weights(self) -> Array:
        """All weights as one vector (n,): layer by layer, array by array, row by row."""
        return np.concatenate([a.ravel() for layer in self.layers for a in layer.arrays.values()])

    def with_weights(self, vector: Any) -> Network:
        """The same layers with other weights (n,), in the order of `weights`."""
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
        """What comes out for values: numbers, arrays with one for each vehicle, or symbols."""
        if self.hidden:
            raise InvalidValue(
                f"this network remembers {self.hidden} numbers: take step(values, hidden)"
            )
        return self.step(values, ())[0]

    def step(
        self, values: Sequence[Any], hidden: Sequence[Any], weights: Sequence[Any] | None = None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What comes out for values and a hidden state, and the next hidden state.

        `weights` stand in for the network's own, in the same order.
        """
        now, remembered = tuple(values), tuple(hidden)
        if len(now) != self.inputs:
            raise InvalidValue(f"the network takes {self.inputs} values, got {len(now)}")
        if len(remembered) != self.hidden:
            raise InvalidValue(
                f"the network remembers {self.hidden} numbers, got {len(remembered)}"
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
        """Write it to one file for `load`, an .npz of NumPy."""
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
        """A network from a file that `save` wrote."""
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
