"""SummaryWriter: logs that TensorBoard shows, with the names of torch.utils.tensorboard.

writer.py      SummaryWriter
values.py      histograms, images and hyperparameters as messages
event_file.py  the file format; nothing has to be installed to write it
"""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
