"""Transforms, constraints and the registry that connects them, against PyTorch."""

import copy
import gc
import pickle

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(2, 3))
SQUARE = RANDOM.normal(size=(2, 3, 3))
POSITIVE = np.exp(REAL)


def T(lib):
    return lib.distributions.transforms


def C(lib):
    return lib.distributions.constraints


# name: (how to make it, x)
TRANSFORMS = {
    "exp": (lambda t, T: T.ExpTransform(), REAL),
    "power": (lambda t, T: T.PowerTransform(t.tensor([0.5, 2.0, -1.5])), POSITIVE),
    "sigmoid": (lambda t, T: T.SigmoidTransform(), REAL),
    "softplus": (lambda t, T: T.SoftplusTransform(), REAL),
    "tanh": (lambda t, T: T.TanhTransform(), REAL),
    "affine": (lambda t, T: T.AffineTransform(0.3, -2.0), REAL),
    "affine tensors": (lambda t, T: T.AffineTransform(t.tensor([[0.3], [1.0]]),
                                                      t.tensor([0.5, -1.0, 3.0])), REAL),
    "affine event": (lambda t, T: T.AffineTransform(0.3, t.tensor([0.5, -1.0, 3.0]), 1), REAL),
    "affine event number": (lambda t, T: T.AffineTransform(0.3, -2.0, 1), REAL),
    "stick breaking": (lambda t, T: T.StickBreakingTransform(), REAL),
    "corr cholesky": (lambda t, T: T.CorrCholeskyTransform(), RANDOM.normal(size=(2, 6))),
    "reshape": (lambda t, T: T.ReshapeTransform((3,), (3, 1)), REAL),
    "compose": (lambda t, T: T.ComposeTransform([T.AffineTransform(0.1, 2.0), T.TanhTransform(),
                                                 T.ExpTransform()]), REAL),
    "compose events": (lambda t, T: T.ComposeTransform([T.ExpTransform(), T.ExpTransform().inv,
                                                        T.StickBreakingTransform()]), REAL),
    "independent": (lambda t, T: T.IndependentTransform(T.ExpTransform(), 1), REAL),
    "inverse": (lambda t, T: T.ExpTransform().inv, POSITIVE),
    "cat": (lambda t, T: T.CatTransform([T.ExpTransform(), T.AffineTransform(0.5, 3.0)], -1,
                                        [1, 2]), REAL),
    "cat events": (lambda t, T: T.CatTransform([T.IndependentTransform(T.ExpTransform(), 1),
                                                T.AffineTransform(0.5, 3.0)], 0, [1, 1]), REAL),
    "stack": (lambda t, T: T.StackTransform([T.ExpTransform(), T.TanhTransform()], 0), REAL),
    "cdf": (lambda t, T: T.CumulativeDistributionTransform(t.distributions.Normal(0.2, 1.5)),
            REAL),
    # without a Jacobian
    "softmax": (lambda t, T: T.SoftmaxTransform(), REAL),
    "lower cholesky": (lambda t, T: T.LowerCholeskyTransform(), SQUARE),
    "positive definite": (lambda t, T: T.PositiveDefiniteTransform(), SQUARE),
    "abs": (lambda t, T: T.AbsTransform(), REAL),
}  # fmt: skip
NO_JACOBIAN = {"softmax", "lower cholesky", "positive definite", "abs"}
INEXACT_INVERSE = {"softmax", "abs", "positive definite", "lower cholesky"}


def close(ours, theirs, rtol=1e-9):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    make, x = TRANSFORMS[name]
    for cache in (0, 1):
        a = make(tt, T(tt)).with_cache(cache)
        b = make(torch, T(torch)).with_cache(cache) if name != "cdf" else make(torch, T(torch))
        leaf, other = tt.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        y, z = a(leaf), b(other)
        close(y, z, 1e-7)
        grads = tt.autograd.grad(y.sin().sum(), leaf, retain_graph=True)
        close(grads[0], torch.autograd.grad(z.sin().sum(), other, retain_graph=True)[0], 1e-6)
        if name not in NO_JACOBIAN:
            j, k = a.log_abs_det_jacobian(leaf, y), b.log_abs_det_jacobian(other, z)
            close(j, k, 1e-7)
        back, front = y.detach(), z.detach()
        close(a.inv(back), b.inv(front), 1e-5)
        if name not in INEXACT_INVERSE:
            np.testing.assert_allclose(a.inv(back).detach().numpy(), x, rtol=1e-5, atol=1e-8)
        if cache:
            assert a.inv(a(leaf)) is leaf
        assert tuple(a.forward_shape(leaf.shape)) == tuple(y.shape)
        assert tuple(a.inverse_shape(y.shape)) == tuple(leaf.shape)
        assert a.bijective == b.bijective
        for one, two in ((a.domain, b.domain), (a.codomain, b.codomain)):
            assert one.event_dim == two.event_dim
        if name != "cat events":  # whose pieces have checks of different shapes
            close(a.domain.check(leaf.detach()).double(), b.domain.check(other.detach()).double())
            close(a.codomain.check(back).double(), b.codomain.check(front).double())
        assert a.inv.inv is a
        try:
            sign = b.sign
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                a.sign  # noqa: B018
        else:
            np.testing.assert_array_equal(np.asarray(a.sign), np.asarray(sign))


def test_equality():
    t = T(tt)
    assert t.ExpTransform() == t.ExpTransform() and t.ExpTransform() != t.TanhTransform()
    assert t.ExpTransform().inv == t.ExpTransform().inv
    assert t.AffineTransform(1.0, 2.0) == t.AffineTransform(1.0, 2.0)
    assert t.AffineTransform(1.0, tt.tensor([2.0])) != t.AffineTransform(1.0, tt.tensor([3.0]))
    assert t.PowerTransform(2.0) == t.PowerTransform(2.0)
    assert t.ComposeTransform([t.ExpTransform()]) == t.ComposeTransform([t.ExpTransform()])
    assert t.identity_transform == t.ComposeTransform([])


def test_no_cycles_and_copies():
    gc.collect()
    gc.disable()
    try:
        t = T(tt).ComposeTransform([T(tt).ExpTransform(), T(tt).AffineTransform(0.0, 2.0)])
        t.inv(t(tt.ones(2)))
        del t
        assert gc.collect() == 0
    finally:
        gc.enable()
    t = T(tt).TanhTransform(cache_size=1)
    t.inv(t(tt.ones(2)))
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other == t and other._cache_size == 1


def test_own_transform():
    class Cube(T(tt).Transform):
        domain = codomain = C(tt).real
        bijective = True
        sign = +1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()

    d = tt.distributions.TransformedDistribution(tt.distributions.Normal(0.0, 1.0), Cube())
    x = tt.tensor([0.5, 2.0])
    root = x ** (1 / 3)
    expected = tt.distributions.Normal(0.0, 1.0).log_prob(root) - (3 * root**2).log()
    np.testing.assert_allclose(d.log_prob(x).numpy(), expected.numpy(), rtol=1e-5)


CONSTRAINTS = {
    "positive": lambda c: c.positive,
    "nonnegative": lambda c: c.nonnegative,
    "real": lambda c: c.real,
    "real_vector": lambda c: c.real_vector,
    "greater_than": lambda c: c.greater_than(1.5),
    "less_than": lambda c: c.less_than(-0.5),
    "interval": lambda c: c.interval(-1.0, 2.0),
    "unit_interval": lambda c: c.unit_interval,
    "half_open_interval": lambda c: c.half_open_interval(0.0, 3.0),
    "simplex": lambda c: c.simplex,
    "lower_cholesky": lambda c: c.lower_cholesky,
    "positive_definite": lambda c: c.positive_definite,
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], -1, [1, 2]),
    "stack": lambda c: c.stack([c.positive, c.unit_interval], 0),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registry(name):
    ours, theirs = CONSTRAINTS[name](C(tt)), CONSTRAINTS[name](C(torch))
    x = SQUARE if name in ("lower_cholesky", "positive_definite") else REAL
    for registry in ("transform_to", "biject_to"):
        try:
            other = getattr(torch.distributions, registry)(theirs)
        except NotImplementedError:
            with pytest.raises(NotImplementedError, match="Cannot transform"):
                getattr(tt.distributions, registry)(ours)
            continue
        mine = getattr(tt.distributions, registry)(ours)
        y, z = mine(tt.tensor(x)), other(torch.tensor(x))
        close(y, z, 1e-7)
        assert bool(ours.check(y).all())
    value = tt.tensor(np.vstack([REAL, POSITIVE])[:2])
    if x is REAL:
        close(ours.check(value).double(), theirs.check(torch.tensor(value.numpy())).double())


CHECKED = {
    "boolean": [[0.0, 1.0], [0.5, 1.0]],
    "one_hot": [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1.0, 1.0, 0.0]],
    "nonnegative_integer": [0.0, 1.0, 2.5, -1.0],
    "positive_integer": [0.0, 1.0, 2.5, -1.0],
    "simplex": [[0.2, 0.8], [0.5, 0.6], [-0.1, 1.1]],
    "lower_triangular": [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.1], [2.0, 1.0]]],
    "lower_cholesky": [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.0], [2.0, 1.0]]],
    "corr_cholesky": [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.7]]],
    "square": [[[1.0, 0.0], [0.6, 0.8]]],
    "symmetric": [[[1.0, 0.2], [0.2, 0.8]], [[1.0, 0.0], [0.6, 0.7]]],
    "positive_semidefinite": [[[1.0, 0.2], [0.2, 0.8]], [[1.0, 2.0], [2.0, 1.0]]],
    "positive_definite": [[[1.0, 0.2], [0.2, 0.8]], [[1.0, 2.0], [2.0, 1.0]]],
}


@pytest.mark.parametrize("name", CHECKED)
def test_constraint(name):
    ours, theirs = getattr(C(tt), name), getattr(C(torch), name)
    close(ours.check(tt.tensor(CHECKED[name])).double(),
          theirs.check(torch.tensor(CHECKED[name])).double())  # fmt: skip
    assert (ours.is_discrete, ours.event_dim) == (theirs.is_discrete, theirs.event_dim)


def test_names():
    for module in ("constraints", "transforms", "constraint_registry", "utils", "kl"):
        ours = getattr(tt.distributions, module)
        theirs = getattr(torch.distributions, module)
        assert set(theirs.__all__) <= set(dir(ours)), module
    assert set(torch.distributions.__all__) <= set(tt.distributions.__all__)


@pytest.mark.parametrize("diag", [0, -1, -2, 1])
def test_packed_triangles(diag):
    ours, theirs = tt.distributions.utils, torch.distributions.utils
    packed = ours.tril_matrix_to_vec(tt.tensor(SQUARE), diag)
    close(packed, theirs.tril_matrix_to_vec(torch.tensor(SQUARE), diag))
    if diag <= 0:
        close(ours.vec_to_tril_matrix(packed, diag),
              theirs.vec_to_tril_matrix(torch.tensor(packed.numpy()), diag))  # fmt: skip


@pytest.mark.parametrize("make, error, message", [
    (lambda: T(tt).ExpTransform(cache_size=2), ValueError, "cache_size must be 0 or 1"),
    (lambda: T(tt).ReshapeTransform((2,), (3,)), ValueError, "different numbers of elements"),
    (lambda: T(tt).ReshapeTransform((2,), (1, 2)).forward_shape((3,)), ValueError, "mismatch"),
    (lambda: T(tt).StickBreakingTransform().forward_shape(()), ValueError, "Too few dimensions"),
    (lambda: T(tt).CorrCholeskyTransform().forward_shape((4,)), ValueError, "lower-diagonal"),
    (lambda: T(tt).CorrCholeskyTransform().inverse_shape((4, 3)), ValueError, "not square"),
    (lambda: T(tt).CatTransform([1]), AssertionError, "transforms only"),
    (lambda: T(tt).CatTransform([T(tt).ExpTransform()], lengths=[1, 2]), AssertionError, "lengths"),
    (lambda: T(tt).StackTransform([T(tt).ExpTransform()])(tt.ones(2)), AssertionError, "1 element"),
    (lambda: T(tt).ReshapeTransform((2,), (2, 1)).event_dim, ValueError, "domain.event_dim"),
    (lambda: T(tt).AbsTransform().log_abs_det_jacobian(1, 1), NotImplementedError, "Jacobian"),
    (lambda: tt.distributions.biject_to.register(3, abs), TypeError, "Constraint subclass"),
    (lambda: tt.distributions.TransformedDistribution(tt.distributions.Normal(0.0, 1.0), 3),
        ValueError, "must be a Transform or a list"),
    (lambda: tt.distributions.TransformedDistribution(tt.distributions.Normal(0.0, 1.0),
        T(tt).StickBreakingTransform()), ValueError, "at least 1 dimensions"),
])  # fmt: skip
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_corr_cholesky_far_from_zero(dtype: str) -> None:
    """tanh is ±1 there: t is kept one eps from it, so that something is left for the diagonal."""
    x = np.array([[-40.0, 40.0, -40.0, 0.3, -50.0, 60.0], [40.0, -40.0, 40.0, -40.0, 0.1, -0.2]])
    found = []
    for lib in (tt, torch):
        y = T(lib).CorrCholeskyTransform()(lib.tensor(x, dtype=getattr(lib, dtype)))
        assert (y.diagonal(0, -2, -1) > 0).all()
        found.append(y.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
