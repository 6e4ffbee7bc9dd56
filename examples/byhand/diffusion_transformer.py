"""A diffusion transformer: noise on a video's latents, and a block that is to find the noise.

The sheet has a slip in the shift of its adaptive layer norm, so all that follows is worked twice:
with the printed shift, as the sheet goes on, and with the right one.
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, linear, matrix, table, vector
from .sheet import Sheet, main, worksheet

MIXING = "1 0 0 0; 1 1 0 0; 0 1 1 0; 0 0 1 1"
FEED_FORWARD = "-1 1 -2; 0 1 -5"
DECODER = "1 0 1; 0 1 0; 1 1 0; -1 1 0"

AS_PRINTED = {
    "conditioned": "1 3 1 -1; 3 3 1 3",
    "attended": "4 4 0 -1; 6 4 4 3",
    "predicted noise": "0 -2 2 2; 1 -1 -1 -2",
    "dL/dprediction": "0 -4 1 3; 2 -1 1 -3",
    "noise taken off": "1 4 -1 -2; 1 3 5 4",
    "decoded": "2 5 0 0; 1 3 5 4; 2 7 4 2; 0 0 6 6",
    "frames": "2 5; 0 0; 1 3; 5 4; 2 7; 4 2; 0 0; 6 6",
}
RIGHT = {
    "conditioned": "3 5 3 1; 3 3 1 3",
    "attended": "8 8 4 1; 6 4 4 3",
    "predicted noise": "-4 -6 -2 0; 1 -1 -1 -2",
    "dL/dprediction": "-4 -8 -3 1; 2 -1 1 -3",
    "noise taken off": "5 8 3 0; 1 3 5 4",
    "decoded": "6 9 4 1; 1 3 5 4; 6 11 8 4; 0 0 2 4",
    "frames": "6 9; 4 1; 1 3; 5 4; 6 11; 8 4; 0 0; 2 4",
}


@worksheet("002-18-DiT", "Diffusion transformer: four frames of a video")
def diffusion_transformer(sheet: Sheet) -> None:
    stack = matrix("1 0; 0 1; 2 0; 1 0; 0 1; 3 0; 0 1; 4 0")
    sheet.given("frames, below each other", stack)
    frames = stack.reshape(4, 1, 2, 2)  # (8, 2) → (frames, channels, 2, 2)
    noise = sheet.given("noise", matrix("0 2 1 -1; -1 0 -2 1"))
    time, prompt = sheet.given("time", vector("1 1")), sheet.given("prompt", vector("0 1 -1"))
    encoder = layer("1 0 -1 0 0; 0 1 0 1 1")
    sheet.given("[encoder | b]", table(encoder))
    sheet.given("A", matrix(MIXING))
    sheet.given("[FFN | b]", table(layer(FEED_FORWARD)))
    sheet.given("[decoder | b]", table(layer(DECODER)))

    patches = nn.patchify(frames, 2).squeeze(1)  # (4, 1, 4) → (4, 4): a frame is one patch
    sheet.check("patches, a row for each frame", patches, "1 0 0 1; 2 0 1 0; 0 1 3 0; 0 1 4 0")
    z = sheet.check("encoder", encoder(patches), "1 -1 -3 1; 3 2 6 1")
    latent = sheet.check("latents = ReLU", z.relu(), "1 0 0 1; 3 2 6 1")
    noised = sheet.check("latents + noise", latent + noise, "1 2 1 0; 2 2 4 2")

    condition = linear("1 0 0 1 0 0; 0 1 0 -1 1 0; 1 1 0 0 1 0; 0 2 0 1 0 2")
    sheet.given("[condition | b]", table(condition))
    told = tt.cat([time, prompt])
    scale_shift = sheet.check("scale, shift", condition(told), "2 -1 1 5")
    scale = scale_shift[:2]
    sheet.slip("shift, the first", scale_shift[2], "-1", "1·1 + 1·1 + 1·(−1) = 1")

    # The module adds 1 to the scale.
    printed = nn.modulate(noised.mT, vector("-1 5"), scale - 1).mT
    gradient = denoise(sheet, "printed shift: ", printed, noised, noise, AS_PRINTED)
    sheet.slip("dL/dprediction, row 2 column 2", gradient[1, 1], "0", "−1 − 0 = −1")
    right = adaptive_norm(condition)(noised.mT, told).mT
    denoise(sheet, "right shift: ", right, noised, noise, RIGHT)


def adaptive_norm(condition: nn.Linear) -> nn.AdaptiveLayerNorm:
    """Scale and shift alone, as on the sheet; the module has the shift before the scale."""
    norm = nn.AdaptiveLayerNorm(2, 5, normalize=False, plus_one=False, dtype=tt.float64)
    order = [2, 3, 0, 1]
    norm.linear.load_state_dict(
        {"weight": condition.weight[order].detach(), "bias": condition.bias[order].detach()}
    )
    return norm


def denoise(
    sheet: Sheet, which: str, conditioned: tt.Tensor, noised: tt.Tensor, noise: tt.Tensor,
    figures: dict[str, str],
) -> tt.Tensor:  # fmt: skip
    """From the conditioned latents to frames; gives dL/dprediction."""
    attended = nn.attention_pooling(conditioned, matrix(MIXING))
    predicted = layer(FEED_FORWARD)(attended)
    predicted.retain_grad()
    (0.5 * nn.MSELoss(reduction="sum")(predicted, noise)).backward(retain_graph=True)
    free = noised - predicted
    decoded = layer(DECODER)(free).relu()
    frames = nn.unpatchify(decoded.unsqueeze(1), 2, 2, 2)  # (4, 1, 4) → (4, 1, 2, 2)
    stack = frames.reshape(8, 2)  # the frames below each other
    values = [conditioned, attended, predicted, predicted.grad, free, decoded, stack]
    for value, (name, figure) in zip(values, figures.items()):
        sheet.check(which + name, value, figure)
    return predicted.grad


if __name__ == "__main__":
    main()
