"""Draws the pictures of the documentation: `make pictures`, or `python docs/pictures.py [folder]`.

mlp.svg            a small network learns XOR: every number of one step
attention.svg      one attention head over three tokens, with numbers to check by hand
encoder.svg        a block of a transformer's encoder
transformer.svg    a whole transformer, two blocks on either side
attention-*        the pictures of attention.md, drawn by the code on that page
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nn
import tinytensor as tt
from nn import functional as F
from tinytensor import graph
from tinytensor.tensor import Tensor


def mlp() -> Tensor:
    """Two layers on the four points of XOR."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = tt.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = tt.tensor([[0.0], [1.0], [1.0], [0.0]])
    loss = F.mse_loss(model(x), target)
    return loss


class Head(nn.Module):
    """One attention head, y = softmax(Q·Kᵀ)·V."""

    def __init__(self) -> None:
        super().__init__()
        self.wq = nn.Parameter(tt.tensor([[1.0, 0.0], [0.0, 1.0]]))
        self.wk = nn.Parameter(tt.tensor([[0.0, 1.0], [1.0, 0.0]]))
        self.wv = nn.Parameter(tt.tensor([[1.0, 2.0], [0.0, 1.0]]))

    def forward(self, x: Tensor) -> Tensor:
        """x (3, 2): three tokens of two numbers each."""
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv  # (3, 2) each
        scores = q @ k.T  # (3, 3)
        weights = scores.softmax(dim=-1)
        return weights @ v


def attention() -> Tensor:
    """An attention head with small integer scores, easy to check by hand."""
    head = Head()
    x = tt.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True)
    target = tt.tensor([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]])
    loss = ((head(x) - target) ** 2).sum()
    return loss


def encoder() -> Tensor:
    """Attention and a small network, each with its skip connection and its norm."""
    block = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True).eval()
    x = tt.randn(1, 5, 8, requires_grad=True)
    target = tt.randn(1, 5, 8)
    loss = F.mse_loss(block(x), target)
    return loss


def transformer() -> Tensor:
    """Five tokens in, four out."""
    model = nn.Seq2SeqTransformer(
        11, 13, d_model=8, nhead=2, num_encoder_layers=2, num_decoder_layers=2,
        dim_feedforward=16, max_len=16,
    ).eval()  # fmt: skip
    source, target = tt.randint(0, 11, (1, 5)), tt.randint(0, 13, (1, 5))
    scores = model(source, target[:, :-1])  # (1, 4, 13)
    loss = F.cross_entropy(scores.reshape(-1, 13), target[:, 1:].reshape(-1))
    return loss


LAYERS = ("LayerNorm", "Linear")  # closed in the encoder
PICTURES: dict[str, tuple[Callable[[], Tensor], dict]] = {
    "mlp": (mlp, {}),
    "attention": (attention, {"show": ["shapes", "values", "grads", "formulas"]}),
    "encoder": (encoder, {"collapse": lambda module: module.class_name in LAYERS}),
    "transformer": (transformer, {"hide_constants": True}),
}


# ------------------------------------------------------------------------------------------
# The page on attention
# ------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parent
STEPS = "attention-steps.html"  # the page writes it; the site shows it as a live page
SOFTMAX_STEP = 4  # its step in the screenshot
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def run_page(page: Path, folder: Path) -> None:
    """Run the code of a page in the folder, where it writes its pictures."""
    text, namespace, here = page.read_text("utf-8"), {"__name__": page.stem}, Path.cwd()
    os.chdir(folder)
    try:
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            above = "\n" * text.count("\n", 0, block.start(1))  # so that lines keep their numbers
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(above + block[1], page.name, "exec"), namespace)
    finally:
        os.chdir(here)


def photograph(address: str, picture: Path, width: int = 1280, height: int = 800) -> None:
    """Take a screenshot of a page, if a browser is installed."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"{picture}  left as it is: none of {', '.join(BROWSERS)} is installed")
        return
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync",
                   f"--user-data-dir={profile}", f"--window-size={width},{height}",
                   "--virtual-time-budget=2000", f"--screenshot={picture}"]  # fmt: skip
        subprocess.run([browser, *options, address], check=True, capture_output=True)


def report(path: Path) -> None:
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


def main(folder: Path) -> None:
    """Draw all pictures."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make_loss, options) in PICTURES.items():
        tt.manual_seed(3)
        with graph.record():
            loss = make_loss()
        path = graph.render(loss, folder / f"{name}.svg", **options)
        report(path)
    with tempfile.TemporaryDirectory() as made:
        run_page(DOCS / "attention.md", Path(made))
        for picture in Path(made).glob("attention-*.svg"):
            shutil.copy(picture, folder)
        steps = (Path(made) / STEPS).as_uri()
        photograph(f"{steps}#walk=backward&step={SOFTMAX_STEP}", folder / "attention-steps.png")
    for path in sorted(folder.glob("attention-*")):
        report(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
