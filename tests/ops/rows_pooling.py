from .functional import functional
from .table import I, T, V

TIES = V([[[[1.0, 1.0, 0.0, 2.0], [1.0, 0.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0]]]])

ROWS = [
    functional("max_pool1d", T(2, 3, 6, distinct=True), 2),
    functional("max_pool1d", T(3, 7, distinct=True), 3, 2, 1, ceil_mode=True, return_indices=True),
    functional("max_pool2d", T(2, 2, 4, 6, distinct=True), 2, empty=True),
    functional("max_pool2d", T(1, 2, 5, 5, distinct=True), (3, 2), 1, 1),
    functional("max_pool2d", T(2, 5, 6, distinct=True), 2, (1, 3), dilation=(2, 1)),
    functional("max_pool2d", T(1, 2, 5, 7, distinct=True), 2, 2, ceil_mode=True),
    functional("max_pool2d", T(1, 2, 5, 4, distinct=True), 3, 2, 1, return_indices=True),
    functional("max_pool2d", TIES, 2, 1, order=0, label="ties"),
    functional("max_pool2d", TIES, 2, 1, return_indices=True, order=0, label="ties, indices"),
    functional("max_pool2d", I(1, 2, 4, 4, low=-5), 2, order=0),
    functional("max_pool3d", T(1, 2, 3, 4, 4, distinct=True), 2, 1, return_indices=True),
    functional("avg_pool1d", T(2, 3, 6), 2),
    functional("avg_pool1d", T(3, 7), 3, 2, 1, True, False),
    functional("avg_pool2d", T(2, 2, 4, 6), 2, empty=True),
    functional("avg_pool2d", T(1, 2, 5, 5), (3, 2), 1, 1),
    functional("avg_pool2d", T(2, 5, 5), 3, 2, 1, True),
    functional("avg_pool2d", T(1, 2, 5, 4), 3, 2, (1, 0), True, False),
    functional("avg_pool2d", T(1, 2, 4, 4), 2, divisor_override=3),
    functional("avg_pool2d", I(1, 2, 4, 4, low=-9), 2, order=0),
    functional("avg_pool3d", T(1, 2, 3, 4, 2), 2, padding=1, count_include_pad=False),
    functional("adaptive_avg_pool1d", T(2, 3, 5), 2),
    functional("adaptive_avg_pool2d", T(2, 2, 4, 6), 1, empty=True),
    functional("adaptive_avg_pool2d", T(2, 2, 4, 6), (2, 3)),
    functional("adaptive_avg_pool2d", T(2, 5, 3), (3, None)),
    functional("adaptive_avg_pool2d", T(1, 2, 2, 3), (5, 4)),
    functional("adaptive_avg_pool2d", T(1, 2, 2, 3), (0, 2), order=0),
    functional("adaptive_avg_pool3d", T(1, 2, 2, 4, 3), (1, 3, 3)),
    functional("adaptive_max_pool1d", T(2, 3, 5, distinct=True), 2),
    functional("adaptive_max_pool2d", T(2, 2, 4, 6, distinct=True), (2, 3)),
    functional("adaptive_max_pool2d", T(2, 5, 3, distinct=True), (3, 2), return_indices=True),
    functional("adaptive_max_pool2d", TIES, 2, True, order=0, label="ties"),
    functional("adaptive_max_pool3d", T(1, 2, 2, 4, 3, distinct=True), (1, 3, 2)),
]
