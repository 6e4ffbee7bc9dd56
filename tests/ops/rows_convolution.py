from .functional import functional
from .table import T

ROWS = [
    functional("conv1d", T(2, 3, 5), T(4, 3, 2), T(4)),
    functional("conv1d", T(4, 7), T(2, 2, 3), stride=2, padding=1, dilation=2, groups=2),
    functional("conv1d", T(2, 2, 5), T(3, 2, 3), T(3), padding="same"),
    functional("conv2d", T(2, 3, 4, 4), T(4, 3, 3, 3), T(4), empty=True),
    functional("conv2d", T(1, 2, 4, 5), T(3, 2, 2, 3), None, 2, 1),
    functional("conv2d", T(2, 2, 5, 4), T(2, 2, 2, 2), T(2), (2, 1), (1, 0), (2, 3)),
    functional("conv2d", T(1, 4, 3, 3), T(6, 2, 2, 2), T(6), groups=2),
    functional("conv2d", T(2, 3, 4, 3), T(3, 1, 3, 3), T(3), padding=1, groups=3),  # depthwise
    functional("conv2d", T(2, 3, 3, 2), T(4, 3, 1, 1), T(4)),
    functional("conv2d", T(2, 3, 5), T(2, 2, 2, 3), T(2), padding="same", dilation=[2, 1]),
    functional("conv2d", T(1, 1, 4, 4), T(1, 1, 2, 2), padding="valid", stride=3),
    functional("conv2d", T(1, 1, 2, 2), T(2, 1, 3, 3), padding=3, dilation=2),
    functional("conv3d", T(1, 2, 3, 2, 3), T(2, 2, 2, 1, 2), T(2), padding=(1, 0, 0)),
    functional("conv3d", T(2, 2, 2, 3), T(2, 1, 2, 2, 2), stride=2, padding=1, groups=2),
    functional("conv_transpose1d", T(2, 3, 4), T(3, 2, 3), T(2)),
    functional("conv_transpose1d", T(4, 3), T(4, 1, 2), stride=3, output_padding=1, groups=2),
    functional("conv_transpose2d", T(2, 3, 3, 2), T(3, 2, 2, 2), T(2)),
    functional("conv_transpose2d", T(1, 2, 3, 3), T(2, 2, 3, 3), T(2), 2, 1, 1),
    functional("conv_transpose2d", T(1, 4, 2, 3), T(4, 2, 3, 2), T(4), (2, 1), (1, 0), groups=2),
    functional("conv_transpose2d", T(2, 3, 3), T(2, 1, 2, 2), dilation=2, output_padding=(1, 0)),
    functional("conv_transpose3d", T(1, 2, 2, 2, 1), T(2, 1, 2, 1, 2), T(1), stride=(1, 2, 1)),
    functional("unfold", T(2, 2, 4, 3), 2, method=False),
    functional("unfold", T(2, 4, 5), (2, 3), 1, (1, 0), 2, method=False),
    functional("unfold", T(1, 2, 5, 4), (3, 2), dilation=2, padding=1, method=False),
    functional("fold", T(2, 8, 6), (4, 3), 2),
    functional("fold", T(8, 9), 6, 2, stride=2),
    functional("fold", T(1, 6, 10), (4, 6), (3, 2), padding=(1, 2), stride=2),
    functional("fold", T(1, 8, 12), (5, 4), 2, dilation=2, padding=1, stride=(2, 1)),
]
