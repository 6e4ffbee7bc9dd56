"""SummaryWriter, as in torch.utils.tensorboard."""

from __future__ import annotations

import io
import os
import socket
import struct
import sys
import time
from datetime import datetime
from typing import Any

from ...autograd.site import warn
from .event_file import EventFile, block, integer, plugin, png, png_image, single
from .values import as_number, histogram, hparams, pixels, raw_histogram


class SummaryWriter:
    """Writes scalars, histograms, images and text to an event file that TensorBoard reads.

    log_dir: the folder; by default runs/<date>_<host><comment>. purge_step: TensorBoard drops what
    an earlier run logged from this step on. The file is flushed after max_queue events or
    flush_secs seconds. `with SummaryWriter() as writer:` closes it.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        file = self._file()
        if purge_step is not None:
            file.write(block(7, integer(1, 1)), purge_step)  # a session starts at this step

    def _file(self, folder: str | None = None) -> EventFile:
        """The event file in a folder, opened on first use and again after `close`."""
        folder = self.log_dir if folder is None else folder
        if folder not in self._files:
            self._files[folder] = EventFile(
                folder, self.filename_suffix, self.max_queue, self.flush_secs
            )
        return self._files[folder]

    def _add(
        self, value: bytes, step: Any, walltime: float | None, folder: str | None = None
    ) -> None:
        """Write an event with one summary value."""
        step = None if step is None else int(as_number("global_step", step))
        self._file(folder).write(block(5, block(1, value)), step, walltime)

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log a number. new_style and double_precision have no effect: it is stored as float32."""
        value = as_number("add_scalar", scalar_value)
        self._add(block(1, tag) + single(2, value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers in one chart: each in a run of its own, below the log folder."""
        for tag, scalar in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            value = as_number("add_scalars", scalar)
            self._add(block(1, main_tag) + single(2, value), global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log the distribution of values. bins: edges a tenth apart, or as in NumPy."""
        self._add(block(1, tag) + histogram(values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that was counted elsewhere."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: got {len(bucket_limits)} limits, {len(bucket_counts)} counts"
            )
        value = raw_histogram(min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(block(1, tag) + value, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image: uint8, or floats in [0, 1]. dataformats: the order of its dimensions."""
        self._add_pixels(tag, pixels("add_image", img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of images as one grid, up to 8 in a row."""
        self._add_pixels(tag, pixels("add_images", img_tensor, dataformats), global_step, walltime)

    def _add_pixels(self, tag: str, grid: Any, step: Any, walltime: float | None) -> None:
        image = png_image(grid.shape[0], grid.shape[1], png(grid))
        self._add(block(1, tag) + image, step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of Matplotlib as an image. close: close it afterwards."""
        if not hasattr(figure, "savefig"):
            raise TypeError(
                f"add_figure: got a {type(figure).__name__}, expected one figure of Matplotlib; "
                "call it once for each"
            )
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        picture = buffer.getvalue()
        width, height = struct.unpack(">II", picture[16:24])  # in the head of every PNG
        self._add(block(1, tag) + png_image(height, width, picture), global_step, walltime)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if close and pyplot is not None:
            pyplot.close(figure)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log text, which TensorBoard shows as Markdown."""
        if not isinstance(text_string, str):
            raise TypeError(f"add_text: got a {type(text_string).__name__}, expected a string")
        shape = block(2, block(2, integer(1, 1)))  # one element
        tensor = integer(1, 7) + shape + block(8, text_string)  # 7: strings
        value = block(1, f"{tag}/text_summary") + plugin("text") + block(8, tensor)
        self._add(value, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log hyperparameters and the metrics they led to, as a run below the log folder."""
        for given in (hparam_dict, metric_dict):
            if not isinstance(given, dict):
                raise TypeError(f"add_hparams: got a {type(given).__name__}, expected two dicts")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        for value in hparams(hparam_dict, metric_dict, hparam_domain_discrete or {}):
            self._add(value, None, None, folder)
        for tag, metric in metric_dict.items():
            number = as_number("add_hparams", metric)
            self._add(block(1, tag) + single(2, number), global_step, None, folder)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Write nothing, and warn: `tinytensor.graph` draws a model, with values and gradients."""
        warn(
            "add_graph: TensorBoard's graph is not supported; draw the model with tinytensor.graph"
        )

    def flush(self) -> None:
        """Write waiting events to the disk."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Close the files; a later event opens a new one."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in _MISSING:
            raise NotImplementedError(
                f"{name}: not supported; expected one of add_scalar, add_scalars, add_histogram, "
                "add_image, add_images, add_figure, add_text, add_hparams"
            )
        raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")


_MISSING = (
    "add_audio", "add_custom_scalars", "add_custom_scalars_marginchart",
    "add_custom_scalars_multilinechart", "add_embedding", "add_image_with_boxes", "add_mesh",
    "add_onnx_graph", "add_pr_curve", "add_pr_curve_raw", "add_tensor", "add_video",
)  # fmt: skip

__all__ = ["SummaryWriter"]
