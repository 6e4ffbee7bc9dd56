"""torch.types: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from ..autograd.op import Node
from ..devices import device
from ..dtype import DType
from ..memory_format import MemoryFormat
from ..size import Size
from ..tensor import Tensor

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike | IO[bytes]
Storage = Any
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool

_int, _float, _bool, _complex, _str, _bytes = int, float, bool, complex, str, bytes
_dtype, _device, _layout = DType, device, MemoryFormat
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_Number = (int, float, bool)
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Node

__all__ = ["Device", "FileLike", "Number", "Storage"]
