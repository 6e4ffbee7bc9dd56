"""Parameter and Buffer, the tensors of a module, and both before their shape is known."""

from __future__ import annotations

import copy as copying
from collections.abc import Callable
from typing import Any

import tinytensor as tt
from tinytensor.autograd.variable import Variable, wrap
from tinytensor.devices import to_device
from tinytensor.errors import ShapeError
from tinytensor.interop import rebuild
from tinytensor.storage import check_may_be_copied
from tinytensor.tensor import Tensor, fill

# fmt: off
__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "UninitializedTensorMixin", "is_lazy",
]
# fmt: on


class Parameter(Tensor):
    """A tensor that a Module lists among its parameters when it is set as an attribute.

    data is shared, not copied; without it the parameter is empty.
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        source = tt.empty(0) if data is None else tt.as_tensor(data)
        parameter = fill(object.__new__(cls), source.array.view())
        return parameter.requires_grad_(requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a module's state but is not learned."""

    __slots__ = ()
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        source = tt.empty(0) if data is None else tt.as_tensor(data)
        buffer = fill(object.__new__(cls), source.array.view())
        buffer.persistent = persistent
        return buffer


# ------------------------------------------------------------------------------------------
# Before the shape is known
# ------------------------------------------------------------------------------------------

_NO_VALUES = "which has no values yet; first call the lazy module on a batch"
_held: Any = vars(Variable)["array"]  # the slot, which `array` below hides


def _conversion(name: str) -> Callable:
    """Make a method such as `double`: it changes the dtype or device to materialise with."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        array = getattr(self.data, name)(*args, **kwargs).array
        if array.dtype == _held.__get__(self).dtype and type(array) is type(_held.__get__(self)):
            return self
        tracked = self.requires_grad and array.dtype.kind in "fVc"
        return fill(object.__new__(type(self)), array, tracked)

    method.__name__ = name
    method.__doc__ = f"As Tensor.{name}; the result has no shape either."
    return method


def _refusal(name: str) -> Callable:
    """Make a method that needs no values, but is refused like those that do, as in PyTorch."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"{name}: got an {type(self).__name__}, {_NO_VALUES}")

    method.__name__ = name
    method.__doc__ = "Refused until the shape is known."
    return method


class UninitializedTensorMixin(Tensor):
    """A tensor with a dtype and a device, but no shape and no values until `materialize`.

    It can be converted, moved, copied, pickled and given to an optimiser. Everything else reads
    `array`, and so raises a ValueError.
    """

    __slots__ = ()
    cls_to_become: type

    @property
    def array(self) -> Any:
        raise ValueError(f"got an {type(self).__name__}, {_NO_VALUES}")

    @array.setter
    def array(self, value: Any) -> None:
        _held.__set__(self, value)

    @property
    def shape(self) -> Any:
        raise ShapeError(
            f"shape: got an {type(self).__name__}, which has none yet; first call the lazy module "
            "on a batch, or load a state_dict with values"
        )

    @property
    def data(self) -> Any:
        """An empty tensor of its dtype and device."""
        return wrap(_held.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = value.array.view()

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a Parameter or a Tensor of this shape, with zeros, to be initialised next.

        device, dtype: those that it was made with or converted to, unless given.
        """
        own = self.data
        device = own.device if device is None else device
        zeros = tt.zeros(shape, device=device, dtype=own.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become
        self.array = zeros.array

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def device(self) -> Any:
        return self.data.device

    def size(self, dim: int | None = None) -> Any:
        """Size([0]), as in PyTorch."""
        return self.data.size(dim)

    def is_floating_point(self) -> bool:
        return self.data.is_floating_point()

    def is_complex(self) -> bool:
        return self.data.is_complex()

    @property
    def requires_grad(self) -> bool:
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.data.requires_grad_(value)  # checks the value and the dtype
        self._tracked = value

    requires_grad_, detach_ = _refusal("requires_grad_"), _refusal("detach_")
    register_hook, retain_grad = _refusal("register_hook"), _refusal("retain_grad")
    numpy, numel, dim = _refusal("numpy"), _refusal("numel"), _refusal("dim")
    nelement, ndimension = numel, dim

    to, cpu, cuda = _conversion("to"), _conversion("cpu"), _conversion("cuda")
    half, float, double = _conversion("half"), _conversion("float"), _conversion("double")
    bfloat16 = _conversion("bfloat16")
    char, short = _conversion("char"), _conversion("short")
    int, long = _conversion("int"), _conversion("long")

    def share_memory_(self) -> Any:
        raise RuntimeError(
            f"share_memory_: got an {type(self).__name__}, which has no memory to share; first "
            "call the lazy module on a batch"
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def _repr_html_(self) -> str:
        return f"&lt;{type(self).__name__}&gt;"

    def __copy__(self) -> Any:
        copy = fill(object.__new__(type(self)), self.data.array, self._tracked)
        copy.__dict__.update(self.__dict__)
        return copy

    def __deepcopy__(self, memo: dict) -> Any:
        memo[id(self)] = copy = self.__copy__()
        copy.__dict__.update(copying.deepcopy(self.__dict__, memo))
        return copy

    def __reduce__(self) -> tuple:
        check_may_be_copied(self.data.array)
        array = to_device(self.data.array, "cpu")
        return rebuild, (type(self), array, self._tracked), self.__dict__ or None


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet; `materialize` makes it an ordinary one."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        array = tt.empty(0, device=device, dtype=dtype).array
        return fill(object.__new__(cls), array, requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A Buffer whose shape is not known yet; `materialize` makes it an ordinary tensor."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
        persistent: bool = True,
    ) -> Any:  # fmt: skip
        array = tt.empty(0, device=device, dtype=dtype).array
        buffer = fill(object.__new__(cls), array, requires_grad)
        buffer.persistent = persistent
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether param is a parameter or buffer whose shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)
