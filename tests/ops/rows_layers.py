"""Rows of ctc_loss, embedding_bag, grid_sample, the rarer forms of pooling, and pdist."""

from .functional import functional
from .table import I, T, V

LOG_PROBS = T(6, 2, 4, low=-3, high=0)
LENGTHS = V([6, 5]), V([3, 2])
BAGS = V([0, 3, 3])
GRID = T(2, 3, 4, 2, low=-1.4, high=1.4)
GRID3D = T(1, 2, 3, 2, 3, low=-1.4, high=1.4)
SAMPLES = V([[[0.3, 0.8], [0.0, 0.99], [0.5, 0.1]], [[0.6, 0.2], [0.9, 0.4], [0.7, 0.7]]], False)
SAMPLES3D = V([[[0.3, 0.8, 0.1], [0.0, 0.99, 0.5]]], False)
CORNERS = [V([[[0, 3], [8, 10]]]), V([[[5, 6], [9, 15]]])]

# The gradient of ctc_loss is not its derivative unless log_probs are normalised: test_ctc_loss.py.
# That of embedding_bag with options is in test_embedding_bag.py.
ROWS = [
    functional("ctc_loss", LOG_PROBS, I(2, 3, low=1, high=4), *LENGTHS, order=0),
    functional("ctc_loss", LOG_PROBS, V([1, 1, 3, 2, 1]), *LENGTHS, reduction="none", order=0),
    functional("ctc_loss", T(4, 3, low=-3, high=0), V([1, 0]), V([4]), V([2]), 2, "sum", order=0),
    functional("embedding_bag", V([1, 2, 2, 4, 0]), T(5, 3), BAGS),
    functional("embedding_bag", I(3, 4, high=5), T(5, 2), mode="sum"),
    functional(
        "embedding_bag", V([1, 2, 2, 4]), T(5, 3), V([0, 2]), mode="sum", per_sample_weights=T(4)
    ),
    functional("embedding_bag", V([1, 2, 2, 4]), T(5, 3, distinct=True), V([0, 2]), mode="max"),
    functional("embedding_bag", V([1, 2, 4]), T(5, 3), V([0, 1, 3]), include_last_offset=True),
    *[
        functional(
            "grid_sample",
            T(2, 3, 4, 5),
            GRID,
            mode,
            padding,
            corners,
            order=1 if mode == "nearest" else 2,
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ],
    functional("grid_sample", T(1, 2, 3, 4, 2), GRID3D, align_corners=False),
    functional("grid_sample", T(1, 2, 3, 4, 2), GRID3D, "nearest", "border", align_corners=True),
    functional("grid_sample", T(1, 2, 3, 4, 2), GRID3D, "bilinear", "reflection", False),
    functional("grid_sample", T(2, 1, 1, 1), GRID, padding_mode="reflection", align_corners=True),
    functional("affine_grid", T(2, 2, 3), (2, 3, 4, 5), align_corners=False),
    functional("affine_grid", T(1, 2, 3), (1, 3, 2, 5), align_corners=True),
    functional("affine_grid", T(1, 2, 3), (1, 3, 1, 5), align_corners=False),
    functional("affine_grid", T(1, 3, 4), [1, 2, 2, 3, 4], align_corners=False),
    functional("max_unpool1d", T(2, 3), V([[0, 3, 4], [1, 2, 5]]), 2),
    functional("max_unpool2d", T(2, 1, 2, 2), V([CORNERS[0].values, CORNERS[1].values]), 2),
    functional("max_unpool2d", T(1, 2, 2), CORNERS[0], 2, output_size=(1, 1, 4, 5)),
    functional("max_unpool2d", T(1, 2, 2), CORNERS[0], 3, 2, 1, (4, 3)),
    functional("max_unpool3d", T(1, 1, 1, 2, 2), V([[CORNERS[0].values]]), 2),
    functional(
        "fractional_max_pool2d", T(2, 3, 7, 6, distinct=True), 2, (3, 4), _random_samples=SAMPLES
    ),
    functional(
        "fractional_max_pool2d",
        T(2, 3, 7, 6, distinct=True),
        (3, 2),
        output_ratio=(0.5, 0.4),
        return_indices=True,
        _random_samples=SAMPLES,
    ),
    functional(
        "fractional_max_pool3d",
        T(1, 2, 5, 6, 7, distinct=True),
        2,
        (2, 3, 1),
        _random_samples=SAMPLES3D,
    ),
    functional("lp_pool1d", T(2, 3, 6, low=0.5), 2, 2),
    functional("lp_pool1d", T(3, 7, low=0.5), 3, 3, 2, True),
    functional("lp_pool2d", T(2, 2, 4, 6, low=0.5), 1.5, 2, empty=True),
    functional("lp_pool2d", T(1, 2, 5, 5, low=0.5), 2, (3, 2), (1, 2)),
    functional("lp_pool2d", T(1, 2, 3, 3), 2.0, 2),
    functional("lp_pool3d", T(1, 2, 3, 4, 4, low=0.5), 3, 2),
    functional("local_response_norm", T(2, 5, 3), 3),
    functional("local_response_norm", T(2, 5, 3, 2), 4, 0.5, 0.6, 2.0),
    functional("multilabel_margin_loss", T(2, 4), V([[3, 0, -1, 1], [1, -1, 2, 0]])),
    functional("multilabel_margin_loss", T(3), V([0, 2, -1]), reduction="none"),
    functional("multilabel_margin_loss", T(2, 3), V([[-1, 0, 0], [1, 1, 2]]), reduction="sum"),
    functional("rrelu", T(3, 4, low=-1.9, distinct=True)),
    functional("rrelu", T(3, 4, low=-1.9, distinct=True), 0.1, 0.5, False),
    functional("pdist", T(4, 3)),
    functional("pdist", T(4, 3), 1, order=1),
    functional("pdist", T(3, 3), 3.5),
]
