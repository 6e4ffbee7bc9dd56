"""log_prob, cdf, icdf, entropy and moments, with gradients, against PyTorch."""

import warnings

import numpy as np
import pytest

import tinytensor as tt

from .cases import CASES, Case

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample")  # PyTorch's Wishart, always

DTYPES = ["float64", "float32"]
# PyTorch's own numbers are less precise: its Bessel functions have seven digits, its lgamma of an
# int is float32
PRECISION = {"VonMises": 1e-5, "Multinomial": 1e-6}
# PyTorch's GeneralizedPareto mixes float32 into float64, and refuses
COMPARED = [(c, d) for c in CASES for d in DTYPES
            if (c.name, d) != ("GeneralizedPareto", "float64")]  # fmt: skip
both_dtypes = pytest.mark.parametrize("case, dtype", COMPARED, ids=str)
MOMENTS = ["mean", "mode", "variance", "stddev"]


def build(lib, case, dtype):
    """The distribution in a library, and its parameters that take gradients."""
    args, leaves = {}, {}
    for name, value in case.args.items():
        if isinstance(value, list):
            value = lib.tensor(value, dtype=getattr(lib, dtype), requires_grad=True)
            leaves[name] = value
        elif isinstance(value, np.ndarray):
            value = lib.tensor(value)
        args[name] = value
    return getattr(lib.distributions, case.name)(**args), leaves


def result(function):
    """The value, or the kind of error for what a library does not have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()
    except NotImplementedError:
        return NotImplementedError


def same(ours, theirs, our_leaves, their_leaves, dtype, exact=0.0):
    """Compare two results, and their gradients with respect to the leaves."""
    if theirs is NotImplementedError or ours is NotImplementedError:
        assert ours is theirs
        return
    rtol = max(exact, 1e-10 if dtype == "float64" else 2e-4)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    if not theirs.requires_grad or not np.isfinite(b).all():
        return
    weights = np.random.default_rng(0).uniform(0.5, 1.5, b.shape)
    used = list(their_leaves)
    total = (theirs * torch.tensor(weights, dtype=theirs.dtype)).sum()
    g = torch.autograd.grad(total, [their_leaves[n] for n in used], allow_unused=True)
    if ours.requires_grad:
        total = (ours * tt.tensor(weights, dtype=ours.dtype)).sum()
        f = tt.autograd.grad(total, [our_leaves[n] for n in used], allow_unused=True)
    else:
        f = [None] * len(used)
    for name, mine, other in zip(used, f, g, strict=True):
        mine = np.zeros(1) if mine is None else mine.numpy()
        other = np.zeros(1) if other is None else other.numpy()
        scale = max(1.0, np.abs(other).max())
        # PyTorch's polygamma(1, x) has nine digits
        rtol = max(rtol, 1e-8)
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=rtol * scale, err_msg=name)


@both_dtypes
def test_log_prob_and_cdf(case: Case, dtype):
    for method in ("log_prob", "cdf"):
        ours, a = build(tt, case, dtype)
        theirs, b = build(torch, case, dtype)
        if np.asarray(case.values).dtype.kind == "i":
            x, y = tt.tensor(case.values), torch.tensor(case.values)
        else:
            x = a["value"] = tt.tensor(case.values, dtype=getattr(tt, dtype), requires_grad=True)
            y = torch.tensor(case.values, dtype=getattr(torch, dtype), requires_grad=True)
            b["value"] = y
        if case.name in ("Gamma", "Chi2", "InverseGamma") and method == "cdf":
            for leaves, built in ((a, ours), (b, theirs)):  # no gradient for the concentration
                built = built.base_dist if case.name == "InverseGamma" else built
                built.concentration = built.concentration.detach()
                leaves.pop("concentration", None)
        mine = result(lambda o=ours, m=method, v=x: getattr(o, m)(v))
        other = result(lambda o=theirs, m=method, v=y: getattr(o, m)(v))
        same(mine, other, a, b, dtype, PRECISION.get(case.name, 0))


@both_dtypes
def test_icdf(case: Case, dtype):
    ours, a = build(tt, case, dtype)
    theirs, b = build(torch, case, dtype)
    at = np.array([[0.1, 0.5, 0.9], [0.03, 0.4, 0.99]])
    x = a["value"] = tt.tensor(at, dtype=getattr(tt, dtype), requires_grad=True)
    y = b["value"] = torch.tensor(at, dtype=getattr(torch, dtype), requires_grad=True)
    same(
        result(lambda: ours.icdf(x)),
        result(lambda: theirs.icdf(y)),
        a,
        b,
        dtype,
        PRECISION.get(case.name, 0),
    )


@both_dtypes
def test_entropy(case: Case, dtype):
    ours, a = build(tt, case, dtype)
    theirs, b = build(torch, case, dtype)
    same(result(ours.entropy), result(theirs.entropy), a, b, dtype, PRECISION.get(case.name, 0))


@pytest.mark.parametrize("moment", MOMENTS)
@both_dtypes
def test_moments(case: Case, moment, dtype):
    ours, a = build(tt, case, dtype)
    theirs, b = build(torch, case, dtype)
    if (case.name, moment) == ("Kumaraswamy", "mode"):
        pytest.skip("PyTorch's is NaN for all parameters")
    mine, other = result(lambda: getattr(ours, moment)), result(lambda: getattr(theirs, moment))
    same(mine, other, a, b, dtype, PRECISION.get(case.name, 0))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shapes_and_attributes(case: Case):
    ours, _ = build(tt, case, "float32")
    theirs, _ = build(torch, case, "float32")
    for name in ("batch_shape", "event_shape"):
        assert tuple(getattr(ours, name)) == tuple(getattr(theirs, name))
    for name in ("has_rsample", "has_enumerate_support"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    for shape in ((), (5,), (2, 3)):
        mine, other = ours.sample(shape), theirs.sample(shape)
        assert tuple(mine.shape) == tuple(other.shape)
        assert str(mine.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]
        assert not mine.requires_grad
        ours.log_prob(mine)  # lies in the support
        if ours.has_rsample:
            assert ours.rsample(shape).requires_grad
    assert repr(ours).split("(")[0] == repr(theirs).split("(")[0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_expand(case: Case):
    dtype = "float32" if case.name == "GeneralizedPareto" else "float64"
    ours, _ = build(tt, case, dtype)
    theirs, _ = build(torch, case, dtype)
    shape = (4, *ours.batch_shape)
    mine, other = ours.expand(shape), theirs.expand(shape)
    assert tuple(mine.batch_shape) == tuple(other.batch_shape) == shape
    assert tuple(mine.event_shape) == tuple(other.event_shape)
    assert tuple(mine.sample((2,)).shape) == tuple(other.sample((2,)).shape)
    torch.manual_seed(0)
    value = other.sample()
    ours, theirs = mine.log_prob(tt.tensor(value.numpy())), other.log_prob(value)
    rtol = max(1e-9 if theirs.dtype == torch.float64 else 1e-4, PRECISION.get(case.name, 0))
    np.testing.assert_allclose(ours.detach(), theirs.detach().numpy(), rtol=rtol, atol=rtol)
