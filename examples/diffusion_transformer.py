"""A diffusion transformer turns noise into videos of a shape that moves as the prompt says.

    python examples/diffusion_transformer.py
    python examples/diffusion_transformer.py --layers 4 --sampling 40

A video x is mixed with noise, xₜ = (1 − t)·x + t·noise, and the transformer learns to predict x. A
token is a patch of 4 × 4 pixels in all eight frames. The noise level t and the prompt (a colour, a
shape and a direction) condition each block through the scales and shifts of its layer norms. A new
video starts as noise, t = 1, and moves in small steps towards the predicted x.

A sixth of all prompts is held out of training. The result is the fraction of new videos, one for
each prompt, that match it in direction (of the centre of mass), shape and colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from gif import animation
from harness import Example, run
from moving_shapes import CHOICES, DIRECTIONS, FRAMES, PIXELS, PROMPTS, film, judge, number, text
from plots import images, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

PATCH = 4  # a token is 4 × 4 pixels, in all frames
CONTRAST = 4.0  # scales the training videos to about the strength of the noise


@dataclass
class Settings(Example):
    measure = "as_asked"
    quick_run = {"steps": 90, "sampling": 8, "lr": 0.005, "target": 0.12}

    layers: int = 3
    heads: int = 4
    width: int = 96
    batch: int = 32
    lr: float = 0.003
    sampling: int = 16  # steps from noise to a video
    steps: int = 700
    target: float = 0.75


class DiffusionTransformer(nn.Module):
    """Denoised videos, for noisy videos x (N, FRAMES, 3, H, W), times t (N) and prompts (N, 3)"""

    def __init__(self, layers: int, heads: int, width: int):
        super().__init__()
        self.patches = nn.PatchEmbed(PATCH, 3 * FRAMES, width)
        # as large as the patches: otherwise it takes long to tell tokens apart
        self.places = nn.Parameter(tt.randn((PIXELS // PATCH) ** 2, width))  # (T, C)
        self.time = nn.TimestepEmbedding(width)
        self.words = nn.ModuleList(nn.Embedding(len(words), width) for words in CHOICES)
        self.blocks = nn.ModuleList(nn.DiTBlock(width, heads) for _ in range(layers))
        self.final = nn.DiTFinalLayer(width, PATCH, 3 * FRAMES)

    def forward(self, x: tt.Tensor, t: tt.Tensor, prompts: tt.Tensor) -> tt.Tensor:
        c = self.time(1000 * t)  # (N, C)
        for words, chosen in zip(self.words, prompts.unbind(dim=1)):
            c = c + words(chosen)
        tokens = self.patches(x.flatten(1, 2)) + self.places  # (N, FRAMES·3, H, W) → (N, T, C)
        for block in self.blocks:
            tokens = block(tokens, c)
        seen = nn.unpatchify(self.final(tokens, c), PATCH, PIXELS, PIXELS)
        return seen.reshape(x.shape)  # (N, FRAMES·3, H, W) → (N, FRAMES, 3, H, W)


def train(model: DiffusionTransformer, prompts: tt.Tensor, settings: Settings) -> None:
    """Train the model to denoise videos of these prompts."""
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=0.0)
    schedule = optim.lr_scheduler.OneCycleLR(
        optimizer, settings.lr, settings.steps + 1, pct_start=0.15
    )
    losses: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            asked = prompts[tt.randint(len(prompts), (settings.batch,))]
            x = CONTRAST * film(asked)
            t = tt.rand(settings.batch)
            share = t.reshape(-1, 1, 1, 1, 1)  # (N) → (N, 1, 1, 1, 1)
            noisy = (1 - share) * x + share * tt.randn(*x.shape)
            loss = F.mse_loss(model(noisy, t, asked), x)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            progress.update(step, {"loss": losses[-1]})
    means = [sum(losses[i : i + 10]) / 10 for i in range(0, len(losses) - 9, 10)]
    if means:
        curve = {"loss": (range(5, 10 * len(means), 10), means)}
        title = "Squared error of the videos seen in noise"
        lines(settings.folder / "loss.svg", curve, title, "step", "loss", log_y=True)


@tt.no_grad()
def sample(model: DiffusionTransformer, prompts: tt.Tensor, steps: int) -> list[tt.Tensor]:
    """Denoise from pure noise; the videos after each step, (N, FRAMES, 3, H, W), 0 to 1."""
    x = tt.randn(len(prompts), FRAMES, 3, PIXELS, PIXELS)
    times = tt.linspace(1, 0, steps + 1).tolist()
    stages = [x]
    for t, after in zip(times, times[1:]):
        clean = model(x, tt.full((len(prompts),), t), prompts)
        x = clean + after / t * (x - clean)  # scale the noise to time `after`
        stages.append(x)
    return [stage / CONTRAST for stage in stages]


def show(model: DiffusionTransformer, settings: Settings) -> None:
    """Draw a video for each direction, the frames of some as a strip, and their denoising."""
    looks = [(colour, shape) for colour in CHOICES[0] for shape in CHOICES[1]]
    compass = [number(*looks[7 * i % 20], direction) for i, direction in enumerate(DIRECTIONS)]
    prompts = tt.tensor(compass)
    stages = sample(model, prompts, settings.sampling)
    animation(settings.folder / "samples.gif", list(stages[-1]), 3)
    shown = [0, 2, 4, 5, 7]
    names = [text(prompts[i]) for i in shown]
    strip = [frame for i in shown for frame in stages[-1][i]]
    title = "Videos made from noise, frame by frame"
    images(settings.folder / "film_strip.svg", strip, FRAMES, None, title, names)
    marks = [round(i * settings.sampling / 7) for i in range(8)]
    noisy = [stages[mark][i, FRAMES // 2] for i in shown for mark in marks]
    steps = [f"step {mark}" for _ in shown for mark in marks]
    title = "One frame of each video, on its way out of the noise"
    images(settings.folder / "out_of_noise.svg", noisy, 8, steps, title, names)


def main(settings: Settings) -> float:
    order = tt.randperm(len(PROMPTS))
    unseen = order[: len(order) // 6]
    model = DiffusionTransformer(settings.layers, settings.heads, settings.width)
    train(model, PROMPTS[order[len(unseen) :]], settings)
    show(model, settings)
    made = sample(model, PROMPTS, settings.sampling)[-1]
    for name, videos in (("real videos", film(PROMPTS)), ("made of noise", made)):
        right = judge(videos) == PROMPTS  # (N, 3)
        shares = zip(("colour", "shape", "direction"), right.float().mean(dim=0).tolist())
        every = right.all(dim=1).float()
        print(f"{name}: ", *(f"{what} {share:.3f} " for what, share in shares), end="")
        print(f"all {every.mean():.3f}, of unseen prompts {every[unseen].mean():.3f}")
    return every.mean().item()


if __name__ == "__main__":
    run(main, Settings)
