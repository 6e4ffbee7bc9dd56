"""Training: the loop, with validation, checkpoints, a log and a loss curve.

trainer.py       Trainer: epoch → batch → step
resume.py        the state of a training, saved to a file and restored
batches.py       batches from any iterable, of any structure
figures.py       loss and metrics: as numbers, averaged, in eval mode
random_state.py  save and restore the random number generators
log.py           the log: one JSON object per line
curve.py         the loss curve, as SVG
progress.py      the progress display, and Ctrl-C
watch.py         statistics of each layer: gradients, updates, dead ReLUs
"""

from ..svg import svg_to_png
from .curve import loss_curve
from .trainer import Trainer
from .watch import Watch

__all__ = ["Trainer", "Watch", "loss_curve", "svg_to_png"]
