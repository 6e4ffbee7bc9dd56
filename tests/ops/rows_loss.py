from .functional import functional
from .table import I, Row, T, V

INF = float("inf")
CLASSES = V([0, 2, 1])
SOME_IGNORED = V([0, -100, 2])
GRID = V([[0, 2], [1, -100]])
SHARES = V([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.1, 0.8, 0.1]])
CLASS_WEIGHT = V([0.5, 1.0, 2.0], grad=False)
SIGNS = V([1.0, -1.0, -1.0, 1.0], grad=False)
SIGN_GRID = V([[1, -1, -1, 1], [-1, 1, 1, -1]])
PROBABLE = {"low": 0.1, "high": 0.9}


def each_reduction(name, *args, **options):  # type: ignore[no-untyped-def]
    return [functional(name, *args, reduction=r, **options) for r in ("none", "mean", "sum")]


ROWS = [
    *each_reduction("cross_entropy", T(3, 3), CLASSES),
    functional("cross_entropy", T(3, 3), SOME_IGNORED, label="ignored"),
    functional("cross_entropy", T(3, 3), CLASSES, ignore_index=2, label="ignore_index"),
    functional("cross_entropy", T(3, 3), V([1, 2, 0]), ignore_index=-1, label="none ignored"),
    functional("cross_entropy", T(4), V(2), label="one sample"),
    functional("cross_entropy", T(4), V(2), reduction="none", label="one sample, not reduced"),
    *each_reduction("cross_entropy", T(2, 3, 2), GRID),
    functional("cross_entropy", T(2, 3, 2, 2), I(2, 2, 2, high=3)),
    *each_reduction("cross_entropy", T(3, 3), SOME_IGNORED, CLASS_WEIGHT),
    *each_reduction("cross_entropy", T(3, 3), SOME_IGNORED, label_smoothing=0.1),
    *each_reduction("cross_entropy", T(3, 3), SOME_IGNORED, CLASS_WEIGHT, label_smoothing=0.3),
    functional("cross_entropy", T(2, 3, 2), GRID, CLASS_WEIGHT, label_smoothing=1.0),
    *each_reduction("cross_entropy", T(3, 3), SHARES),
    *each_reduction("cross_entropy", T(3, 3), SHARES, CLASS_WEIGHT, label_smoothing=0.2),
    functional("cross_entropy", T(2, 3, 2), T(2, 3, 2, low=0, high=1)),
    functional("cross_entropy", T(3), T(3, low=0, high=1)),
    functional("cross_entropy", V([[900.0, -900.0, 0.0]]), V([1]), label="large"),
    functional("cross_entropy", V([[-INF, 1.0, 0.5]]), V([1]), order=0, label="minus infinity"),
    *each_reduction("nll_loss", T(3, 3), CLASSES),
    *each_reduction("nll_loss", T(3, 3), SOME_IGNORED, CLASS_WEIGHT),
    *each_reduction("nll_loss", T(2, 3, 2), GRID),
    functional("nll_loss", T(4), V(2), label="one sample"),
    functional("nll_loss", T(3, 3), CLASSES, ignore_index=1, label="ignore_index"),
    *each_reduction("mse_loss", T(2, 3), T(2, 3)),
    functional("mse_loss", T(2, 3), T(2, 3), reduction="sum", empty=True, scalar=True),
    *each_reduction("mse_loss", T(2, 3), T(2, 3), weight=T(2, 3, low=0.1)),
    *each_reduction("l1_loss", T(2, 3, distinct=True), T(2, 3)),
    functional("l1_loss", T(2, 3), T(2, 3), weight=T(2, 3, low=0.1)),
    *each_reduction("smooth_l1_loss", T(3, 4), T(3, 4)),
    functional("smooth_l1_loss", T(3, 4), T(3, 4), beta=0.5),
    functional("smooth_l1_loss", T(3, 4), T(3, 4), beta=0),
    *each_reduction("huber_loss", T(3, 4), T(3, 4)),
    functional("huber_loss", T(3, 4), T(3, 4), "sum", 0.5),
    functional("huber_loss", T(3, 4), T(3, 4), weight=T(3, 4, low=0.1)),
    *each_reduction("binary_cross_entropy", T(2, 3, **PROBABLE), T(2, 3, **PROBABLE)),
    functional("binary_cross_entropy", T(2, 3, **PROBABLE), T(2, 3, **PROBABLE),
               T(3, low=0.1, grad=False)),
    functional("binary_cross_entropy", V([0.0, 1.0, 0.0, 1.0]), V([0.0, 1.0, 1.0, 0.0]),
               order=0, label="certain"),
    *each_reduction("binary_cross_entropy_with_logits", T(2, 3), T(2, 3, **PROBABLE)),
    functional("binary_cross_entropy_with_logits", T(2, 3), T(2, 3, **PROBABLE),
               pos_weight=T(3, low=0.5, grad=False)),
    functional("binary_cross_entropy_with_logits", T(2, 3), T(2, 3, **PROBABLE),
               T(2, 1, grad=False)),
    Row("binary_cross_entropy_with_logits", T(2, 3), T(2, 3, **PROBABLE), pos_weight=T(3),
        torch=None, note="PyTorch has no gradient for pos_weight"),
    functional("binary_cross_entropy_with_logits", V([800.0, -800.0, 0.0]),
               V([0.0, 1.0, 0.5], grad=False), label="large"),
    functional("kl_div", T(2, 3), T(2, 3, low=0.1, high=1), reduction="batchmean"),
    functional("kl_div", T(2, 3), T(2, 3, low=0.1, high=1), reduction="sum"),
    functional("kl_div", T(2, 3), V([[0.0, 0.4, 0.6], [1.0, 0.0, 0.0]], grad=False),
               reduction="none", label="zeros"),
    functional("kl_div", T(2, 3), T(2, 3), reduction="batchmean", log_target=True),
    *each_reduction("poisson_nll_loss", T(2, 3), T(2, 3, low=0.1, high=4, grad=False)),
    functional("poisson_nll_loss", T(2, 3), T(2, 3, low=0.1, high=4, grad=False), full=True),
    functional("poisson_nll_loss", T(2, 3, low=0.5), T(2, 3, low=0.1, high=4, grad=False), False),
    *each_reduction("gaussian_nll_loss", T(2, 3), T(2, 3), T(2, 3, low=0.2)),
    functional("gaussian_nll_loss", T(2, 3), T(2, 3), T(2, low=0.2), True),
    functional("gaussian_nll_loss", T(2, 3), T(2, 3), T(2, 1, low=0.2)),
    functional("gaussian_nll_loss", T(2, 3), T(2, 3), 0.5),
    functional("gaussian_nll_loss", T(2, 3, low=-0.1, high=0.1), T(2, 3, low=-0.1, high=0.1), 1e-4),
    *each_reduction("margin_ranking_loss", T(4), T(4), SIGNS),
    functional("margin_ranking_loss", T(2, 4), T(2, 4), SIGN_GRID, 0.7),
    *each_reduction("hinge_embedding_loss", T(2, 4), SIGN_GRID),
    functional("hinge_embedding_loss", T(2, 4), SIGN_GRID, 0.3),
    *each_reduction("cosine_embedding_loss", T(4, 3), T(4, 3), SIGNS),
    functional("cosine_embedding_loss", T(4, 3), T(4, 3), SIGNS, 0.2),
    functional("cosine_embedding_loss", T(3), T(3), V(1), label="one pair"),
    *each_reduction("triplet_margin_loss", T(4, 3), T(4, 3), T(4, 3)),
    functional("triplet_margin_loss", T(4, 3), T(4, 3), T(4, 3), 2.0, 1, swap=True),
    functional("triplet_margin_loss", T(3), T(3), T(3), 5.0),
    functional("triplet_margin_with_distance_loss", T(4, 3), T(4, 3), T(4, 3), margin=2.0),
    *each_reduction("soft_margin_loss", T(2, 4), SIGN_GRID),
    *each_reduction("multilabel_soft_margin_loss", T(2, 3), T(2, 3, **PROBABLE)),
    functional("multilabel_soft_margin_loss", T(2, 3), T(2, 3, **PROBABLE), T(3, low=0.1)),
    *each_reduction("multi_margin_loss", T(3, 3), CLASSES),
    functional("multi_margin_loss", T(3, 3), CLASSES, 2, 0.7, CLASS_WEIGHT),
    functional("multi_margin_loss", T(4), V(2), label="one sample"),
]  # fmt: skip
