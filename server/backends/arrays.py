"""Kinds of NumPy arrays that go into graphs and come out of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Flags = NDArray[np.int32]
"""0 or 1; the type that attention kernels take for a keep mask."""

Array = NDArray[Any]
