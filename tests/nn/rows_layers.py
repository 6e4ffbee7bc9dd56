"""Rows of the less common layers and losses."""

from .table import I, Row, T, V

SAMPLES = V([[[0.3, 0.8], [0.0, 0.99]]], False)
SAMPLES3D = V([[[0.3, 0.8, 0.1], [0.0, 0.99, 0.5]]], False)
PLACES = V([[[[0, 3], [8, 10]]]])
FRAMES = [T(5, 2, 4, low=-3, high=0), V([[1, 2], [3, 0]]), V([5, 4]), V([2, 1])]

ROWS = [
    Row("AdaptiveLogSoftmaxWithLoss", 6, 10, [3, 7], div_value=2.0,
        inputs=[T(5, 6), V([0, 9, 3, 6, 2])]),
    Row("AdaptiveLogSoftmaxWithLoss", 6, 10, [4], 2.0, True, inputs=[T(6), V(7)]),
    Row("CTCLoss", inputs=FRAMES, derivative=False),
    Row("CTCLoss", 0, "none", True, inputs=FRAMES, derivative=False),
    Row("EmbeddingBag", 5, 3, inputs=[I(2, 4, high=5)]),
    Row("EmbeddingBag", 5, 3, mode="sum", inputs=[V([1, 2, 4, 0]), V([0, 3]), T(4)]),
    Row("EmbeddingBag", 5, 3, mode="max", padding_idx=1, include_last_offset=True,
        inputs=[V([1, 2, 4, 0]), V([0, 3, 4])], derivative=False),
    Row("FractionalMaxPool2d", 2, (3, 2), _random_samples=SAMPLES,
        inputs=[T(1, 2, 6, 5, distinct=True)]),
    Row("FractionalMaxPool2d", 2, output_ratio=0.5, return_indices=True, _random_samples=SAMPLES,
        inputs=[T(1, 2, 6, 5, distinct=True)]),
    Row("FractionalMaxPool3d", (1, 2, 2), 2, _random_samples=SAMPLES3D,
        inputs=[T(1, 2, 4, 5, 4, distinct=True)]),
    Row("LPPool1d", 2, 3, inputs=[T(2, 3, 7, low=0.5)]),
    Row("LPPool2d", 1.5, (2, 3), stride=2, ceil_mode=True, inputs=[T(2, 5, 5, low=0.5)]),
    Row("LPPool3d", 2, 2, inputs=[T(1, 2, 4, 3, 3, low=0.5)]),
    Row("LocalResponseNorm", 3, inputs=[T(2, 5, 3)]),
    Row("LocalResponseNorm", 2, alpha=0.5, inputs=[T(2, 5, 3, 2)]),
    Row("MaxUnpool1d", 2, inputs=[T(1, 1, 3), V([[[1, 3, 4]]])]),
    Row("MaxUnpool2d", 2, inputs=[T(1, 1, 2, 2), PLACES]),
    Row("MaxUnpool2d", 2, inputs=[T(1, 1, 2, 2), PLACES], call={"output_size": (5, 4)}),
    Row("MaxUnpool3d", (1, 2, 2), inputs=[T(1, 1, 2, 2), PLACES]),
    Row("MultiLabelMarginLoss", inputs=[T(2, 4), V([[3, 0, -1, 1], [1, -1, 2, 0]])]),
    Row("NLLLoss2d", inputs=[T(2, 3, 2, 2), I(2, 2, 2, high=3)]),
    Row("RReLU", 0.1, 0.4, inputs=[T(3, 4)], train=(False,)),
    Row("SyncBatchNorm", 3, inputs=[T(4, 3, 2)], torch=lambda package: package.BatchNorm1d(3)),
]  # fmt: skip
