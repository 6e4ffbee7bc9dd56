"""einops on tensors, whichever of the two is imported first; the same numbers as with PyTorch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

einops = pytest.importorskip("einops")

RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((2, 3, 4, 6))

CALLS: dict[str, Any] = {
    "rearrange": lambda x: einops.rearrange(x, "b c h w -> b (h w) c"),
    "patches": lambda x: einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3),
    "new axis": lambda x: einops.rearrange(x, "b c h w -> b 1 c h w 1"),
    "list": lambda x: einops.rearrange([x, 2 * x], "n b c h w -> b (n c) h w"),
    "repeat": lambda x: einops.repeat(x, "b c h w -> b (c 2) h (w r)", r=3),
    "repeat in front": lambda x: einops.repeat(x, "b c h w -> k b c h w", k=4),
    "einsum": lambda x: einops.einsum(x, x, "b c h w, b d h w -> b c d"),
    "pack": lambda x: einops.pack([x, x[:, 0]], "b * w")[0],
    "unpack": lambda x: einops.unpack(x, [[1], [2]], "b * h w")[1],
    **{
        f"reduce by {how}": lambda x, how=how: einops.reduce(x, "b c (h 2) w -> b (h w)", how)
        for how in ("sum", "mean", "max", "min", "prod")
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_as_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for library in (tt, torch):
        x = library.tensor(IMAGES, requires_grad=True)
        y = CALLS[name](x)
        assert type(y) is library.Tensor
        (y * y).sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    (y, dx), (expected, gradient) = results
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(dx, gradient, rtol=1e-10)


def test_other_functions() -> None:
    x = tt.tensor(IMAGES)
    assert einops.parse_shape(x, "b _ h w") == {"b": 2, "h": 4, "w": 6}
    assert einops.reduce(x > 0, "b c h w -> b", "any").tolist() == [True, True]
    assert einops.reduce(x > 0, "b c h w -> b", "all").tolist() == [False, False]
    packed, shapes = einops.pack([x, x[:, :, 0]], "b c *")
    assert [tuple(y.shape) for y in einops.unpack(packed, shapes, "b c *")] == [
        (2, 3, 4, 6),
        (2, 3, 6),
    ]
    np.testing.assert_array_equal(einops.asnumpy(x), IMAGES)
    with pytest.raises(einops.EinopsError):
        einops.rearrange(x, "b c -> c b")


def test_numpy_arrays_are_left_to_einops() -> None:
    assert type(einops.rearrange(IMAGES, "b c h w -> (b c) h w")) is np.ndarray


def test_layers() -> None:
    from einops.layers.tinytensor import EinMix, Rearrange, Reduce

    from tinytensor import nn

    model = nn.Sequential(
        nn.Conv2d(3, 8, 2, 2),
        Rearrange("b c h w -> b (h w) c"),
        EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=8, d=5),
        Reduce("b t d -> b d", "mean"),
    )
    y = model(tt.tensor(IMAGES).float())
    assert tuple(y.shape) == (2, 5)
    y.sum().backward()
    assert set(model.state_dict()) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all(p.grad is not None for p in model.parameters())
    mixed = EinMix("b (h c) -> b (h d)", weight_shape="h c d", h=2, c=3, d=4)
    assert tuple(mixed(tt.ones(5, 6)).shape) == (5, 8)
    assert repr(model[1]) == "Rearrange('b c h w -> b (h w) c')"


def test_layers_have_pytorchs_numbers() -> None:
    torch = pytest.importorskip("torch")
    from einops.layers.tinytensor import EinMix
    from einops.layers.torch import EinMix as Theirs

    options = {"weight_shape": "g c d", "bias_shape": "g d", "g": 2, "c": 3, "d": 4}
    ours, theirs = (cls("b (g c) -> b g d", **options) for cls in (EinMix, Theirs))
    ours.load_state_dict({k: tt.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = RNG.standard_normal((5, 6)).astype(np.float32)
    found, expected = ours(tt.tensor(x)), theirs(torch.tensor(x))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-6)


IMPORTS = {
    "einops first": "import einops, tinytensor as tt",
    "einops second": "import tinytensor as tt, einops",
    "einops used first": "import einops, numpy\n"
    "einops.rearrange(numpy.ones((1, 2)), 'a b -> b a')\n"
    "import tinytensor as tt",
    "einops not imported": "import tinytensor as tt, sys\n"
    "assert 'einops' not in sys.modules and 'scipy' not in sys.modules\n"
    "import einops",
}


@pytest.mark.parametrize("order", IMPORTS)
def test_either_order_of_imports(order: str) -> None:
    program = (
        f"{IMPORTS[order]}\n"
        "x = einops.rearrange(tt.ones(2, 3), 'a b -> b a')\n"
        "assert isinstance(x, tt.Tensor) and tuple(x.shape) == (3, 2)\n"
        "import sys; assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_pytorchs_layers_under_an_alias() -> None:
    """`einops.layers.torch` itself runs where a program puts tinytensor in PyTorch's place."""
    program = (
        "import sys, tinytensor as tt, tinytensor.nn\n"
        "sys.modules['torch'], sys.modules['torch.nn'] = tt, tt.nn\n"
        "from einops.layers.torch import Rearrange\n"
        "y = Rearrange('a b -> b a')(tt.ones(2, 3))\n"
        "assert isinstance(y, tt.Tensor) and tuple(y.shape) == (3, 2)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
