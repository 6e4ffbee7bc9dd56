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
    Row("quantile", T(3, 4, distinct=True), V([], grad=False), dim=1, order=0),
    Row("quantile", T(3, 4, distinct=True), V([], grad=False), keepdim=True, order=0),
    Row("quantile", T(3, 4, distinct=True), V([0.1, 0.45, 0.8]), dim=1),
    Row("quantile", T(3, 4, distinct=True), V(0.45), keepdim=True),
    Row("quantile", T(5), V([0.1, 0.45]), interpolation="linear"),
    Row("cov", T(1, 5)),
    Row("cov", T(3, 5), fweights=V([1, 0, 2, 1, 3])),
    Row("cov", T(3, 5), aweights=T(5, low=0.1)),
    Row("cov", T(3, 5), aweights=T(5, low=0.1), correction=0),
    Row("cov", T(3, 5), fweights=V([1, 0, 2, 1, 3]), aweights=T(5, low=0.1)),
    Row("cov", T(5), fweights=V([1, 0, 2, 1, 3]), aweights=T(5, low=0.1), correction=2),
    Row("cov", V([[0, 2, 4], [6, 0, 0]]), fweights=V([1, 2, 3]), order=0),
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
ROWS += [
    Row("quantile", T(11, 2, distinct=True), V([0.0, 0.1, 0.3, 0.35, 0.7, 1.0], grad=False), dim=0,
        interpolation=between)
    for between in ("linear", "lower", "higher", "nearest", "midpoint")
]  # fmt: skip
