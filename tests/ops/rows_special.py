"""Special functions that need no SciPy; the others are in tests/special."""

from .table import I, Row, T, V

ROWS = [
    Row("special.ndtr", T(3, 4), empty=True, scalar=True),
    Row("special.entr", T(3, 4, low=0.1), empty=True, scalar=True),
    Row("special.entr", V([0.0, -1.0, float("nan"), float("inf")], grad=False), order=0),
    Row("special.xlog1py", T(3, 4), T(4, low=-0.9), empty=True, scalar=True),
    Row("special.xlog1py", T(3, 4), 0.5),
    Row("special.xlog1py", 2, T(3, low=-0.9)),
    Row("special.xlog1py", V([0.0, 0.0, 0.0, 1.0]), V([-2.0, -1.0, float("nan"), -1.0]), order=0),
    Row("sinc", T(3, 4), empty=True, scalar=True),
    Row("sinc", V([0.0, 1e-9, 0.05, 1.0, -2.5]), torch=None,
        note="at 0 the second derivative is -π²/3; PyTorch's is NaN"),
    Row("sinc", V([0.0, -0.0, 1.0, float("inf"), 7.0], grad=False), order=0),
    Row("special.chebyshev_polynomial_t", T(3, 1, grad=False), I(4, high=9), order=0),
    Row("special.expit", T(3)),
    Row("special.gammaln", T(3, low=0.1)),
    Row("special.psi", T(3, low=0.1)),
    Row("special.multigammaln", T(3, low=2, high=5), 3),
    Row("special.softmax", T(2, 3), 1),
    Row("special.log_softmax", T(2, 3), dim=1),
    Row("special.logsumexp", T(2, 3), 1),
    Row("special.round", T(2, 3), decimals=1, order=0),
]  # fmt: skip
