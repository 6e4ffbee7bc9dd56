from .functional import functional
from .table import B, Row, T, V

MASK = V([[True, False, True], [False, True, True]])


def product(x, mask, scale):  # type: ignore[no-untyped-def]
    return x * mask * scale


ROWS = [
    Row("masked_scale", T(2, 3), MASK, 2.0, torch=product, label="mask"),
    Row("masked_scale", T(2, 3), B(3), 1.25, torch=product),
    Row("masked_scale", T(3, 2, 2), B(3, 2, 1), 4.0, torch=product),
    functional("dropout", T(2, 3), 0.0, empty=True, scalar=True),
    functional("dropout", T(2, 3), 1.0, empty=True, scalar=True),
    functional("dropout", T(2, 3), 0.5, training=False),
    functional("dropout1d", T(2, 3), 1.0),
    functional("dropout1d", T(2, 3, 2), 0.0),
    functional("dropout2d", T(2, 3, 2, 2), 1.0),
    functional("dropout3d", T(2, 3, 1, 2, 1), p=0.0),
    functional("dropout3d", T(2, 3, 1, 2), p=1.0),
    Row("feature_dropout", T(2, 3, 2), 1.0, True),
    functional("alpha_dropout", T(2, 3), 0.0, True),
    functional("alpha_dropout", T(2, 3), 0.5, False),
    functional("feature_alpha_dropout", T(2, 3, 2), 0.0, True),
]
