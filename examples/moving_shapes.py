"""Videos of a moving shape, and a judge that recognises what a video shows: data for the examples.

prompts = tt.tensor([number("red", "circle", "up-left")])   # (1, 3)
film(prompts)                                               # (1, 8, 3, 16, 16)
judge(film(prompts))                                        # the same indices again
"""

from __future__ import annotations

import itertools

from captioned_shapes import COLOURS, PIXELS, SHAPES, ink

import tinytensor as tt

FRAMES = 8
SPEED = 0.8 / PIXELS  # per frame, in widths of the picture
RADIUS = 0.23  # of a shape
DIRECTIONS = {  # (x, y), with y downwards
    "up-left": (-1, -1), "up": (0, -1), "up-right": (1, -1),
    "left": (-1, 0), "still": (0, 0), "right": (1, 0),
    "down-left": (-1, 1), "down": (0, 1), "down-right": (1, 1),
}  # fmt: skip
CHOICES = (tuple(COLOURS), SHAPES, tuple(DIRECTIONS))  # a prompt has one of each
PROMPTS = tt.tensor(list(itertools.product(*(range(len(words)) for words in CHOICES))))  # (180, 3)


def number(*words: str) -> list[int]:
    """A prompt as indices of its colour, shape and direction."""
    return [choices.index(word) for choices, word in zip(CHOICES, words, strict=True)]


def text(prompt: tt.Tensor) -> str:
    """The words of a prompt (3)."""
    return " ".join(choices[i] for choices, i in zip(CHOICES, prompt.tolist()))


def velocities() -> tt.Tensor:
    """How far a shape moves in a frame, in x and y, for each direction: (9, 2)."""
    vectors = tt.tensor(list(DIRECTIONS.values())).float()
    return SPEED * vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1)


def draw_all(centres: tt.Tensor) -> tt.Tensor:
    """Every shape, with its centre of mass at (N, FRAMES, 2): (N, shapes, FRAMES, H, W)."""
    axis = (tt.arange(PIXELS) + 0.5) / PIXELS
    y, x = tt.meshgrid(axis, axis, indexing="ij")  # (H, W)
    at = centres[..., None, None]  # (N, FRAMES, 2, 1, 1)
    x, y = x - at[:, :, 0], y - at[:, :, 1]  # (N, FRAMES, H, W)
    below = {"triangle": 0.8 * RADIUS / 3}  # its centre of mass is not in the middle
    return tt.stack([ink(shape, x, y + below.get(shape, 0.0), RADIUS) for shape in SHAPES], dim=1)


def film(prompts: tt.Tensor) -> tt.Tensor:
    """Videos (N, FRAMES, 3, H, W), 0 to 1: each shape passes near the centre halfway through."""
    colour, shape, direction = prompts.unbind(dim=1)
    middle = 0.5 + 0.14 * (tt.rand(len(prompts), 1, 2) - 0.5)
    time = (tt.arange(FRAMES) - (FRAMES - 1) / 2).reshape(1, FRAMES, 1)  # (FRAMES) → (1, FRAMES, 1)
    drawn = draw_all(middle + time * velocities()[direction].unsqueeze(1))
    drawn = drawn[tt.arange(len(prompts)), shape].unsqueeze(2)  # (N, FRAMES, 1, H, W)
    paint = tt.tensor(list(COLOURS.values()))[colour]  # (N, 3)
    return drawn * paint[:, None, :, None, None]


def judge(videos: tt.Tensor) -> tt.Tensor:
    """The prompts (N, 3) that the videos (N, FRAMES, 3, H, W) show.

    The direction comes from the mean step of the centre of mass. The shape is the one that fits
    best when drawn there; the colour is that of the bright pixels.
    """
    light = videos.clamp(0, 1).amax(dim=2)  # (N, FRAMES, H, W)
    light = light * (light > 0.25)  # a faint background has no weight
    axis = (tt.arange(PIXELS) + 0.5) / PIXELS
    mass = light.sum(dim=(2, 3)).clamp(min=1e-3)
    centres = [(light.sum(dim=dim) * axis).sum(dim=2) / mass for dim in (2, 3)]  # x, y
    path = tt.stack(centres, dim=2)  # (N, FRAMES, 2)
    time = tt.arange(FRAMES) - (FRAMES - 1) / 2
    step = (path * time.unsqueeze(1)).sum(dim=1) / time.square().sum()  # slope of a fitted line
    direction = tt.cdist(step, velocities()).argmin(dim=1)

    bright = (light / light.amax(dim=(1, 2, 3), keepdim=True).clamp(min=1e-3)).unsqueeze(1)
    shape = (draw_all(path) - bright).square().sum(dim=(2, 3, 4)).argmin(dim=1)
    weight = light.square().unsqueeze(2)  # (N, FRAMES, 1, H, W)
    paint = (videos * weight).sum(dim=(1, 3, 4)) / weight.sum(dim=(1, 3, 4)).clamp(min=1e-3)
    colour = tt.cdist(paint, tt.tensor(list(COLOURS.values()))).argmin(dim=1)
    return tt.stack([colour, shape, direction], dim=1)


__all__ = [
    "CHOICES",
    "DIRECTIONS",
    "FRAMES",
    "PIXELS",
    "PROMPTS",
    "film",
    "judge",
    "number",
    "text",
]
