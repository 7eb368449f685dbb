"""Networks from state dicts of PyTorch, which need no PyTorch to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..brief import listed
from ..errors import InvalidValue
from .layer_kinds import Gru, Layer, dense_of, named

_RECURRENT = re.compile(r"(weight|bias)_(ih|hh)(?:_l(\d+))?(_reverse)?")
_ALLOWED = (
    "allowed are weight and bias of linear layers, and weight_ih, weight_hh, bias_ih and bias_hh "
    "of GRUs, of which each may end in _l0, _l1, ...; give parts=(...) where not all are meant"
)


def layers_of(
    mapping: Mapping[str, Any], activation: str, final: str, parts: Sequence[str]
) -> tuple[Layer, ...]:
    """The layers of a state dict in its order, or in that of `parts`."""
    if not isinstance(mapping, Mapping):
        raise InvalidValue(f"a state dict is a mapping of names to arrays, got {mapping!r:.80}")
    if isinstance(parts, str):
        raise InvalidValue(f"parts = {parts!r} must be a sequence of beginnings of names")
    groups = _in_order(_grouped(_chosen(mapping, parts)))
    if not groups:
        raise InvalidValue("the state dict is empty: there is no layer in it")
    linear = [name for name, group in groups.items() if "weight" in group]
    layers: list[Layer] = []
    for name, group in groups.items():
        what = f"layer {len(layers)} ({name or 'without a name'})"
        if "weight" in group:
            follows = final if name == linear[-1] else activation
            _check_weight(what, group["weight"])
            layers.append(dense_of(what, group["weight"], group.get("bias"), follows))
        else:
            layers += _recurrent(what, group)
    return tuple(layers)


def _chosen(mapping: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    """The entries whose names begin with one of the parts, in the order of these."""
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
    """Entries by the layer that they belong to, in order."""
    groups: dict[str, dict[str, Any]] = {}
    for name, array in mapping.items():
        owner, _, leaf = str(name).rpartition(".")
        recurrent = _RECURRENT.fullmatch(leaf)
        if recurrent is None and leaf not in ("weight", "bias"):
            raise InvalidValue(f"{name!r} of the state dict is no weight of a layer; {_ALLOWED}")
        if recurrent is not None and recurrent[4]:
            raise InvalidValue(
                f"{name!r} of the state dict is of a GRU in both directions; a policy sees only "
                "the past"
            )
        groups.setdefault(owner, {})[leaf] = array
    for owner, group in groups.items():
        if "bias" in group and "weight" not in group:
            raise InvalidValue(f"layer {owner!r} of the state dict has a bias and no weight")
        if "weight" in group and len(group) > 1 + ("bias" in group):
            raise InvalidValue(f"layer {owner!r} of the state dict has {listed([*group])}")
    return groups


def _in_order(groups: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """As they come; members of one `nn.Sequential` by number, as a mapping may be sorted by name,
    with 10 before 2."""
    places = [re.fullmatch(r"(.*?)(\d+)", name) for name in groups]
    if any(place is None for place in places) or len({p[1] for p in places if p}) != 1:
        return groups
    numbers = {name: int(p[2]) for name, p in zip(groups, places, strict=True) if p}
    return {name: groups[name] for name in sorted(groups, key=numbers.__getitem__)}


def _check_weight(what: str, weight: Any) -> None:
    axes = np.ndim(weight) if not hasattr(weight, "ndim") else weight.ndim
    if axes != 2:
        kind = {1: "a normalisation", 3: "a convolution", 4: "a convolution"}.get(axes, "something")
        raise InvalidValue(
            f"{what}: weight has {axes} axes, as of {kind}; allowed are 2, (out, in) of a linear "
            "layer"
        )


def _recurrent(what: str, group: Mapping[str, Any]) -> list[Layer]:
    """The layers of an `nn.GRU`, or the one of an `nn.GRUCell`."""
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
