from .functional import functional
from .table import I, Row, T

ROWS = [
    functional("interpolate", T(2, 2, 3, 2), scale_factor=2, empty=True),
    functional("interpolate", T(1, 2, 3, 2), (7, 3)),
    functional("interpolate", T(1, 2, 5, 5), 3),
    functional("interpolate", T(1, 2, 5), scale_factor=1.5),
    functional("interpolate", T(1, 1, 2, 2, 3), scale_factor=(1, 2, 2)),
    functional("interpolate", T(1, 2, 4, 3), (6, 5), mode="nearest-exact"),
    functional("interpolate", T(1, 2, 3), 5, mode="linear"),
    functional("interpolate", T(2, 2, 3, 2), scale_factor=2, mode="bilinear"),
    functional("interpolate", T(1, 2, 3, 2), (5, 4), mode="bilinear", align_corners=True),
    functional("interpolate", T(1, 2, 5, 4), (3, 1), mode="bilinear", align_corners=True),
    functional("interpolate", T(1, 2, 5, 4), scale_factor=0.6, mode="bilinear"),
    functional("interpolate", T(1, 2, 5, 4), scale_factor=[1.3, 0.8], mode="bilinear",
               recompute_scale_factor=True, align_corners=False),
    functional("interpolate", T(1, 1, 3, 4), scale_factor=1.5, mode="bicubic"),
    functional("interpolate", T(1, 1, 3, 4), (5, 3), mode="bicubic", align_corners=True),
    functional("interpolate", T(1, 1, 2, 2, 2), (3, 2, 3), mode="trilinear"),
    functional("interpolate", T(1, 2, 5, 4), (2, 3), mode="area"),
    Row("pixel_shuffle", T(2, 8, 2, 3), 2),
    Row("pixel_shuffle", T(9, 1, 2), 3),
    Row("pixel_shuffle", I(1, 2, 4, 2, 2), 2, order=0),
    Row("pixel_unshuffle", T(2, 2, 4, 6), 2),
    Row("pixel_unshuffle", T(1, 3, 6), 3),
    Row("channel_shuffle", T(2, 6, 2), 3),
    Row("channel_shuffle", T(1, 4, 2, 2), 2),
]  # fmt: skip
