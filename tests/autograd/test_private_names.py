"""PyTorch's private and old names around autograd, and errors of the calls that start a walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

NAMES = [("_unique", {}), ("_unique2", {"return_counts": True}), ("_unique2", {})]


@pytest.mark.parametrize("return_inverse", [False, True])
@pytest.mark.parametrize("name, options", [*NAMES, ("unique_dim", {"dim": 1})])
def test_private_forms_of_unique(name: str, options: dict, return_inverse: bool) -> None:
    values = np.array([[3.0, 1.0, 3.0], [2.0, 1.0, 2.0]])

    def run(library: Any) -> list:
        function = getattr(library._VF if name == "unique_dim" else library, name)
        x = library.tensor(values, requires_grad=True)
        found = function(x, **options, return_inverse=return_inverse)
        assert found[0].requires_grad and not any(part.requires_grad for part in found[1:])
        return [part.tolist() for part in found]

    assert run(tt) == run(torch)


def test_vf_has_the_public_functions() -> None:
    assert tt._VF.sin(tt.zeros(2)).tolist() == [0.0, 0.0]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tt._VF.nothing  # noqa: B018


def test_resize_function() -> None:
    x = tt.arange(6.0).reshape(2, 3).t().requires_grad_()
    y = tt.autograd._functions.Resize.apply(x, (2, 3))
    (y * tt.arange(6.0).reshape(2, 3)).sum().backward()
    assert y.tolist() == [[0.0, 3.0, 1.0], [4.0, 2.0, 5.0]]
    assert x.grad.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    with pytest.raises(RuntimeError, match=r"Resize: got sizes \(2, 2\).*expected 6 elements"):
        tt.autograd._functions.Resize.apply(x, (2, 2))


def test_attributes_that_cannot_be_deleted() -> None:
    for library in (tt, torch):
        x = library.ones(2, requires_grad=True)
        for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
            with pytest.raises(RuntimeError):
                delattr(x, name)
        assert x._grad_fn is None and not x._backward_hooks
        x.register_hook(lambda g: None)
        assert len(x._backward_hooks) == 1
        x._backward_hooks = {}
        assert (x * 2)._grad_fn is not None
        with pytest.warns(UserWarning, match="volatile"):
            assert not x.volatile


def test_the_error_for_a_gradient_of_another_shape() -> None:
    for library in (tt, torch):
        x = library.ones(2, 2, requires_grad=True)
        given = library.ones(2)
        expected = (
            f"Mismatch in shape: grad_output[0] has a shape of {given.shape} and output[0] has a "
            f"shape of {x.shape}."
        )
        with pytest.raises(RuntimeError) as caught:
            library.autograd.grad(x * 2, x, given)
        assert str(caught.value).endswith(expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex128"])
@pytest.mark.parametrize("shape", [(2, 3), (3,), (0, 3), (1,), ()])
@pytest.mark.parametrize("options", [{}, {"correction": 0}, {"dim": 0}, {"dim": -1, "keepdim": 1}])
@pytest.mark.filterwarnings("ignore:var_mean")
def test_var_mean_is_one_node(dtype: str, shape: tuple, options: dict) -> None:
    """Values, gradients and second derivatives, with both outputs used, or one of them."""
    values = np.random.default_rng(0).normal(size=shape)
    options = {k: bool(v) if k == "keepdim" else v for k, v in options.items()}
    tolerance = 1e-2 if "16" in dtype else 1e-5

    def run(library: Any, weights: tuple) -> list:
        x = library.tensor(values, dtype=getattr(library, dtype)).requires_grad_()
        v, m = library.var_mean(x, **options)
        loss = (v * weights[0]).sum() + (m * m.conj()).real.sum() * weights[1]
        (g,) = library.autograd.grad(loss, x, create_graph=True)
        (h,) = library.autograd.grad((g * g.conj()).real.sum() + (x * x).real.sum(), x)
        wide = library.complex128 if dtype == "complex128" else library.float64
        return [t.detach().to(wide).numpy() for t in (v, m, g, h)]

    for weights in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0)):
        for mine, other in zip(run(tt, weights), run(torch, weights)):
            np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
    if dtype == "float64":
        x = tt.tensor(values, requires_grad=True)
        v, m = tt.var_mean(x, **options)
        assert v.grad_fn is m.grad_fn and (v.output_nr, m.output_nr) == (0, 1)


def test_prehooks_of_var_mean_get_both_gradients() -> None:
    for library in (tt, torch):
        a = library.arange(6.0).reshape(2, 3).requires_grad_()
        (reference,) = library.autograd.grad(sum(library.var_mean(a, dim=0)).sum(), a)
        v, m = library.var_mean(a, dim=0)
        m.grad_fn.register_prehook(lambda grads: tuple(g * 2 for g in grads))
        (v + m).sum().backward()
        assert a.grad.tolist() == (reference * 2).tolist()


def test_hooks_of_accumulate_grad() -> None:
    """They run where a gradient is added to `.grad`: in backward, not in grad."""
    seen: list = []
    for library in (tt, torch):
        seen.clear()
        a = library.tensor(1.0, requires_grad=True)
        b = a * 2
        node = b.grad_fn.next_functions[0][0]
        a.register_hook(lambda g: seen.append("tensor") or g * 3)
        node.register_prehook(lambda g: seen.append("before") or (g[0] * 5,))
        node.register_hook(lambda i, o: seen.append(("after", i, o[0].item())))
        a.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
        (g,) = library.autograd.grad(b, a, retain_graph=True)
        assert g.item() == 6.0 and seen == ["tensor"]
        for arguments in ({}, {"inputs": a}):
            seen.clear()
            a.grad = None
            b.backward(retain_graph=True, **arguments)
            assert seen == ["tensor", "before", 30.0, ("after", (), 30.0)]
