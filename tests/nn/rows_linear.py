from .table import I, Row, T, V

ROWS = [
    Row("Linear", 4, 3, inputs=[T(2, 4)]),
    Row("Linear", 4, 3, inputs=[T(4)]),
    Row("Linear", 4, 3, bias=False, inputs=[T(2, 5, 4)]),
    Row("Linear", 1, 2, inputs=[T(0, 1)]),
    Row("Bilinear", 3, 4, 2, inputs=[T(5, 3), T(5, 4)]),
    Row("Bilinear", 3, 4, 2, bias=False, inputs=[T(2, 5, 3), T(2, 5, 4)]),
    Row("Embedding", 7, 3, inputs=[I(2, 4, high=7)]),
    Row("Embedding", 7, 3, inputs=[I(high=7)]),
    Row("Embedding", 5, 3, padding_idx=1, inputs=[V([[0, 1, 2], [1, 1, 4]])], derivative=False),
    Row("Embedding", 5, 3, padding_idx=-1, inputs=[V([4, 0, 4])], derivative=False),
    Row("Embedding", 5, 3, max_norm=1.0, inputs=[I(3, high=5)], order=0),
    Row("Embedding", 5, 3, max_norm=1.0, norm_type=1.0, inputs=[I(3, high=5)], order=0),
    Row("Embedding", 5, 3, scale_grad_by_freq=True, inputs=[I(8, high=5)], derivative=False),
]
