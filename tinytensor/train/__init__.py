"""Training: the loop, with validation, checkpoints, a log and a picture of the loss.

trainer.py       Trainer: epoch → batch → step
resume.py        the state of a training, saved to a file and restored
batches.py       batches from anything, of any structure
figures.py       loss and metrics: as numbers, averaged, in eval mode
random_state.py  where the random numbers come from, kept and restored
log.py           the JSON lines
curve.py         the loss curve, as SVG
progress.py      what is seen meanwhile, and Ctrl-C
watch.py         how each layer fares: gradients, updates, dead ReLUs
"""

from ..svg import svg_to_png
from .curve import loss_curve
from .trainer import Trainer
from .watch import Watch

__all__ = ["Trainer", "Watch", "loss_curve", "svg_to_png"]
