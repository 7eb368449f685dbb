"""Shared arrays on a CUDA device: copied there when a kernel first needs them, freed when gone."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..shared_arrays import Blocks, alive, table_address
from .cuda_text import ARRAYS

LOCK = threading.Lock()
"""Held from telling a kernel where the arrays are until it is launched: they stay there so long."""

_Words = tuple[int, int]


class DeviceArrays:
    """The arrays of one precision on one device."""

    def __init__(self, xp: Any, precision: str) -> None:
        self._xp, self._precision = xp, precision
        table_address(precision)  # from now on there are blocks of this precision
        self._seen: Mapping[int, Blocks] | None = None
        self._blocks: dict[int, Any] = {}
        self._table: Any = None

    def words(self) -> _Words:
        """Address and length of the table, with all arrays that there are at this moment."""
        now = alive()
        if now is not self._seen:
            self._refresh(now)
        return int(self._table.data.ptr), len(self._table)

    def _refresh(self, now: Mapping[int, Blocks]) -> None:
        xp = self._xp
        # Kernels that were launched may read what is freed here.
        xp.cuda.Device().synchronize()
        blocks: dict[int, Any] = {}
        addresses = np.zeros(1 + max(now, default=0), np.uint64)
        for number, of_array in now.items():
            block = getattr(of_array, self._precision)
            if block is not None:
                known = self._blocks.get(number)
                blocks[number] = xp.asarray(block) if known is None else known
                addresses[number] = blocks[number].data.ptr
        table = xp.asarray(addresses)
        # The words go to the kernels by another stream than the copies.
        xp.cuda.Device().synchronize()
        self._blocks, self._table, self._seen = blocks, table, now


_on_devices: dict[tuple[int, str], DeviceArrays] = {}


class ModuleArrays:
    """What one compiled module knows of the arrays."""

    def __init__(self, xp: Any, module: Any, precision: str) -> None:
        self._xp, self._module, self._precision = xp, module, precision
        self._told: dict[int, _Words] = {}
        """By device."""

    def update(self) -> None:
        """Tell the module where the arrays are. Under `LOCK`, before a launch."""
        xp = self._xp
        device = int(xp.cuda.Device().id)
        key = device, self._precision
        if key not in _on_devices:
            _on_devices[key] = DeviceArrays(xp, self._precision)
        words = _on_devices[key].words()
        if self._told.get(device) != words:
            content = (ctypes.c_uint64 * 2)(*words)
            place = self._module.get_global(ARRAYS)
            place.copy_from_host(ctypes.addressof(content), ctypes.sizeof(content))
            self._told[device] = words
