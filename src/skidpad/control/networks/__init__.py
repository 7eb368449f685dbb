"""Neural networks, trained here or elsewhere, as policies in the kernel.

A `Network` is made from matrices, a state dict of PyTorch or an ONNX file; `network_policy` makes a
`skidpad.Policy` from it, which a fleet compiles with the vehicle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .network import Network
    from .policy import network_policy

__all__ = ["Network", "network_policy"]

__getattr__ = lazy_attributes(
    __name__,
    {".network": ("Network",), ".policy": ("network_policy",)},
)
