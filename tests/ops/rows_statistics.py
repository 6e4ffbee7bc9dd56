"""The most frequent element, quantiles, covariances and correlations."""

from .table import I, Row, T, V

ROWS = [
    Row("mode", V([[3, 1, 3, 1, 0], [2, 2, 1, 0, 5]]), order=0, scalar=True),
    Row("mode", I(4, 3, high=3), 0, order=0),
    Row("mode", I(4, 3, high=3), 0, True, order=0),
    Row("mode", V([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]]), order=0),
    Row("mode", T(3, 1)),
    Row("quantile", T(7, distinct=True), 0.5, scalar=True),
    Row("quantile", T(3, 4, distinct=True), 0.3),
    Row("quantile", T(3, 4, distinct=True), 0.3, keepdim=True),
    Row("quantile", T(3, 4, distinct=True), 0.9, dim=0),
    Row("quantile", T(3, 4, distinct=True), 0.9, -1, True),
    Row("quantile", T(3, 4, distinct=True), V([0.0, 0.25, 1.0], grad=False), dim=1),
    Row("quantile", T(3, 4, distinct=True), V([0.5], grad=False), dim=1, keepdim=True),
    Row("quantile", V([1.0, float("nan"), 3.0]), 0.1, order=0),
    Row("cov", T(3, 5)),
    Row("cov", T(3, 5), correction=0),
    Row("cov", T(5)),
    Row("cov", V([[0, 2, 4], [6, 0, 0]]), order=0),
    Row("corrcoef", T(3, 5)),
    Row("corrcoef", T(5), order=0),
]
ROWS += [
    Row("quantile", T(n, distinct=True), share, interpolation=between)
    for between in ("linear", "lower", "higher", "nearest", "midpoint")
    for n, share in ((6, 0.3), (7, 0.75), (6, 0.5))
]
