from .table import Row, T

ROWS = [
    Row("Conv1d", 3, 4, 3, inputs=[T(2, 3, 6)]),
    Row("Conv1d", 4, 2, 2, 2, 1, 2, 2, False, inputs=[T(4, 7)]),
    Row("Conv1d", 2, 3, 3, padding=2, padding_mode="circular", inputs=[T(2, 2, 5)]),
    Row("Conv2d", 3, 4, 3, inputs=[T(2, 3, 5, 4)]),
    Row("Conv2d", 2, 3, (2, 3), stride=(2, 1), padding=(1, 2), inputs=[T(1, 2, 4, 3)]),
    Row("Conv2d", 4, 6, 2, dilation=2, groups=2, bias=False, inputs=[T(2, 4, 4, 5)]),
    Row("Conv2d", 3, 3, 3, padding="same", groups=3, inputs=[T(3, 4, 4)]),
    Row("Conv2d", 2, 2, 3, padding="same", dilation=2, inputs=[T(1, 2, 5, 4)]),
    Row("Conv2d", 2, 2, 3, padding="valid", stride=2, inputs=[T(1, 2, 5, 4)]),
    Row("Conv2d", 2, 3, 3, padding=(1, 2), padding_mode="reflect", inputs=[T(1, 2, 4, 4)]),
    Row("Conv2d", 2, 3, 3, padding=2, padding_mode="replicate", inputs=[T(1, 2, 3, 4)]),
    Row("Conv2d", 2, 3, (2, 3), padding="same", padding_mode="circular", inputs=[T(2, 3, 4)]),
    Row("Conv3d", 2, 3, 2, padding=1, inputs=[T(1, 2, 2, 3, 2)]),
    Row("ConvTranspose1d", 3, 2, 3, 2, inputs=[T(2, 3, 4)]),
    Row("ConvTranspose2d", 3, 4, 3, inputs=[T(2, 3, 3, 2)]),
    Row("ConvTranspose2d", 3, 2, 3, 2, 1, 1, inputs=[T(1, 3, 3, 2)]),
    Row("ConvTranspose2d", 4, 6, 2, groups=2, bias=False, dilation=2, inputs=[T(4, 2, 3)]),
    Row("ConvTranspose2d", 2, 2, 3, 2, 1, inputs=[T(1, 2, 3, 3)], call={"output_size": (6, 5)}),
    Row(
        "ConvTranspose2d", 2, 2, 3, 2, 1, inputs=[T(1, 2, 3, 3)], call={"output_size": (1, 2, 6, 5)}
    ),
    Row("ConvTranspose2d", 2, 2, 3, 2, 1, inputs=[T(2, 3, 3)], call={"output_size": (2, 6, 5)}),
    Row("ConvTranspose3d", 2, 1, 2, (1, 2, 2), inputs=[T(1, 2, 2, 1, 2)]),
]
