"""Names for the arrays that functions take and give; their shapes stand in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers in double precision, on the host."""
AnyArray = NDArray[Any]
"""Numbers of either precision; on a CUDA device where a function says so."""
Mask = NDArray[np.bool_]
"""True or false for each of something."""
