from .functional import functional
from .table import Row, T, V

MEAN = V([0.5, -0.5, 0.1], grad=False)
VARIANCE = V([0.7, 1.5, 2.0], grad=False)

ROWS = [
    functional("layer_norm", T(2, 8), (8,)),
    functional("layer_norm", T(2, 5), (5,), T(5), T(5), empty=True),
    functional("layer_norm", T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)),
    functional("layer_norm", T(2, 3, 4), [4], weight=T(4), eps=0.1),
    functional("layer_norm", T(2, 4), (4,), bias=T(4)),
    functional("layer_norm", T(5), (5,), T(5), T(5)),
    functional("rms_norm", T(2, 5), (5,)),
    functional("rms_norm", T(2, 5), (5,), T(5), 1e-3, empty=True),
    functional("rms_norm", T(2, 3, 4), (3, 4), weight=T(3, 4)),
    functional("group_norm", T(2, 6, 3), 3),
    functional("group_norm", T(2, 4), 2, T(4), T(4)),
    functional("group_norm", T(2, 4, 2, 2), 2, weight=T(4), bias=T(4), eps=0.1),
    functional("group_norm", T(2, 3, 2), 1, T(3)),
    functional("batch_norm", T(4, 3), None, None, training=True),
    functional("batch_norm", T(4, 3), None, None, T(3), T(3), True),
    functional("batch_norm", T(2, 3, 2, 2), None, None, T(3), T(3), True, 0.1, 0.1),
    functional("batch_norm", T(4, 3), MEAN, VARIANCE, empty=True, label="evaluation"),
    functional("batch_norm", T(2, 3, 2), MEAN, VARIANCE, T(3), T(3), label="evaluation, affine"),
    functional("instance_norm", T(2, 3, 4)),
    functional("instance_norm", T(2, 3, 2, 2), weight=T(3), bias=T(3), eps=0.1),
    functional("instance_norm", T(2, 3, 4), MEAN, VARIANCE, T(3), T(3), False, label="running"),
    functional("normalize", T(3, 4)),
    functional("normalize", T(3, 4), 3.0, 0),
    functional("normalize", T(2, 3, 4), p=1, dim=-1),
    functional("normalize", V([[0.0, 0.0], [3.0, 4.0]]), eps=0.5, label="zero"),
    Row("cosine_similarity", T(3, 4), T(3, 4)),
    Row("cosine_similarity", T(3, 4), T(4), dim=-1),
    Row("cosine_similarity", T(2, 3, 4), T(2, 1, 4), 0),
    Row("cosine_similarity", T(4), T(4), 0, 1e-2),
    Row("cosine_similarity", T(3, 1), T(3, 4)),  # broadcast along dim
    Row("cosine_similarity", T(4), T(3, 4), dim=-2),
    Row("cosine_similarity", T(3, 4), T(2, 1, 1), dim=-1),
    Row("pairwise_distance", T(3, 4), T(3, 4)),
    Row("pairwise_distance", T(3, 4), T(4), p=1),
    Row("pairwise_distance", T(2, 3, 4), T(3, 4), 3.0, 1e-3, True),
    Row("cdist", T(3, 4), T(2, 4)),
    Row("cdist", T(2, 3, 4), T(2, 2, 4), p=1),
    Row("cdist", T(2, 3, 4), T(4, 4), 3.0),
]
