"""SummaryWriter: what TensorBoard's own reader finds in the files, beside PyTorch's writer."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.utils.tensorboard import SummaryWriter
from tinytensor.utils.tensorboard.event_file import masked_crc, png, record, varint

pytestmark = pytest.mark.filterwarnings("ignore")  # of TensorBoard and protobuf


def test_bytes_by_hand() -> None:
    assert varint(0) == b"\0" and varint(300) == b"\xac\x02" and len(varint(-1)) == 10
    # CRC-32C of "123456789" is 0xE3069283; masked: rotated by 15 bits plus a constant.
    crc = 0xE3069283
    mask = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked_crc(b"123456789") == mask.to_bytes(4, "little")
    assert record(b"abc")[:8] == (3).to_bytes(8, "little") and len(record(b"abc")) == 8 + 4 + 3 + 4


def test_a_file_without_tensorboard(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", tt.tensor(2.5), 3)
        assert writer.get_logdir() == str(tmp_path) == writer.log_dir
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    assert file.name.startswith("events.out.tfevents.") and b"brain.Event:2" in content
    assert b"loss" in content and np.float32(2.5).tobytes() in content


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SummaryWriter(comment="_x").close()
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_x")


def read(folder: Path) -> Any:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = loading.EventAccumulator(str(folder), {"histograms": 0, "images": 0, "tensors": 0})
    return found.Reload()


def log(writer: Any, lib: Any) -> None:
    """What a training script logs, with tensors of either library."""
    rng = np.random.default_rng(0)
    for step in range(5):
        writer.add_scalar("train/loss", lib.tensor(1.0 / (step + 1)), step)
    writer.add_scalar("plain", 3, 7)
    writer.add_scalar("numpy", np.float64(0.1))
    writer.add_scalar("nan", float("nan"), 1)
    weights = rng.standard_normal(500)
    writer.add_histogram("w", lib.tensor(weights), 2)
    writer.add_histogram("positive", np.abs(weights) + 1, 2)
    writer.add_histogram("zeros", lib.zeros(4), 2)
    writer.add_histogram("auto", weights, 2, bins=10)
    writer.add_histogram("wide", weights * 1e6, 2, bins="tensorflow", max_bins=40)
    writer.add_histogram_raw("raw", 0.0, 2.0, 3, 3.0, 5.0, [1.0, 2.0], [1, 2], 4)
    writer.add_image("chw", lib.tensor(rng.random((3, 6, 5))), 1)
    writer.add_image("gray", rng.random((1, 4, 4)), 1)
    writer.add_image("hwc", (rng.random((4, 7, 3)) * 255).astype(np.uint8), 1, dataformats="HWC")
    writer.add_image("hw", rng.random((4, 7)), 1, dataformats="HW")
    writer.add_images("batch", lib.tensor(rng.random((10, 3, 4, 4))), 1)
    writer.add_text("notes", "**hello** – ü", 5)
    writer.add_scalars("both", {"a": 1.0, "b": lib.tensor(2.0)}, 3)
    writer.flush()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("tensorboard")
    torch = pytest.importorskip("torch")
    theirs_module = pytest.importorskip("torch.utils.tensorboard")
    ours, theirs = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("theirs")
    with SummaryWriter(ours) as writer:
        log(writer, tt)
    with theirs_module.SummaryWriter(theirs) as writer:
        log(writer, torch)
    return ours, theirs


def test_scalars_as_pytorch(both: Any) -> None:
    a, b = map(read, both)
    assert a.Tags() == b.Tags()
    for tag in b.Tags()["scalars"]:
        found, expected = ([(e.step, e.value) for e in x.Scalars(tag)] for x in (a, b))
        np.testing.assert_equal(found, expected)
        assert all(abs(e.wall_time - a.FirstEventTimestamp()) < 100 for e in a.Scalars(tag))


def test_histograms_as_pytorch(both: Any) -> None:
    a, b = map(read, both)
    for tag in b.Tags()["histograms"]:
        (found,), (expected,) = a.Histograms(tag), b.Histograms(tag)
        assert found.step == expected.step
        x, y = found.histogram_value, expected.histogram_value
        for name in ("min", "max", "num", "sum", "sum_squares"):
            np.testing.assert_allclose(getattr(x, name), getattr(y, name), rtol=1e-12)
        np.testing.assert_allclose(x.bucket, y.bucket)
        np.testing.assert_allclose(x.bucket_limit, y.bucket_limit, rtol=1e-9)


def test_images_and_text_as_pytorch(both: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    a, b = map(read, both)
    for tag in b.Tags()["images"]:
        (found,), (expected,) = a.Images(tag), b.Images(tag)
        assert (found.width, found.height, found.step) == (
            expected.width, expected.height, expected.step
        )  # fmt: skip
        pictures = [
            np.array(image.open(io.BytesIO(e.encoded_image_string)).convert("RGB"), dtype=int)
            for e in (found, expected)
        ]
        assert np.abs(pictures[0] - pictures[1]).max() <= 1, tag
    (tag,) = (tag for tag in b.Tags()["tensors"] if "text" in tag)
    (found,), (expected,) = a.Tensors(tag), b.Tensors(tag)
    assert found.tensor_proto.string_val == expected.tensor_proto.string_val
    assert found.step == expected.step == 5
    metadata = [x.SummaryMetadata(tag).plugin_data.plugin_name for x in (a, b)]
    assert metadata == ["text", "text"]


def test_add_scalars_makes_runs(both: Any) -> None:
    ours, theirs = both
    folders = [sorted(p.name for p in folder.iterdir() if p.is_dir()) for folder in both]
    assert folders[0] == folders[1] == ["both_a", "both_b"]
    for name in folders[0]:
        values = [read(f / name).Scalars("both")[0].value for f in (ours, theirs)]
        assert values[0] == values[1]


def test_hparams_as_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    theirs_module = pytest.importorskip("torch.utils.tensorboard")
    plugin_data = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2")
    settings = {"lr": 0.1, "layers": 3, "norm": "layer", "bias": True, "other": None}
    found = []
    for kind, folder in ((SummaryWriter, "a"), (theirs_module.SummaryWriter, "b")):
        with kind(tmp_path / folder) as writer:
            writer.add_hparams(
                settings, {"hparam/loss": 0.5}, {"norm": ["layer", "rms"]}, run_name="run"
            )
        run = read(tmp_path / folder / "run")
        assert run.Scalars("hparam/loss")[0].value == 0.5
        messages = []
        for tag in ("experiment", "session_start_info", "session_end_info"):
            content = run.SummaryMetadata(f"_hparams_/{tag}").plugin_data.content
            messages.append(plugin_data.HParamsPluginData.FromString(content))
        found.append(messages)
    assert found[0][0] == found[1][0] and found[0][1] == found[1][1]
    assert found[0][2].session_end_info.status == found[1][2].session_end_info.status


def test_writing_after_close_and_purge(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, purge_step=2, filename_suffix=".x")
    writer.add_scalar("a", 1, 3)
    writer.close()
    writer.add_scalar("a", 2, tt.tensor(4))
    writer.close()
    assert len(list(tmp_path.glob("*.x"))) == 2
    assert [(e.step, e.value) for e in read(tmp_path).Scalars("a")] == [(3, 1.0), (4, 2.0)]


def test_figure(tmp_path: Path) -> None:
    class Figure:
        def savefig(self, file: Any, format: str) -> None:
            file.write(png(np.full((3, 5, 3), 7, np.uint8)))

    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("f", Figure(), 1)
    (event,) = read(tmp_path).Images("f")
    assert (event.height, event.width) == (3, 5)


WRONG: dict[str, tuple[Callable, type, str]] = {
    "vector": (lambda w: w.add_scalar("a", tt.ones(2)), ValueError, "add_scalar: got .*shape"),
    "string": (lambda w: w.add_scalar("a", "x"), ValueError, "add_scalar"),
    "no values": (lambda w: w.add_histogram("a", []), ValueError, "no values"),
    "nan": (lambda w: w.add_histogram("a", [float("nan")]), ValueError, "NaN"),
    "image": (lambda w: w.add_image("a", tt.ones(2, 3)), ValueError, "shape"),
    "channels": (lambda w: w.add_image("a", tt.ones(2, 3, 3)), ValueError, "2 channels"),
    "format": (lambda w: w.add_image("a", tt.ones(3, 3), dataformats="AB"), ValueError, "AB"),
    "text": (lambda w: w.add_text("a", 3), TypeError, "add_text"),
    "figure": (lambda w: w.add_figure("a", [1]), TypeError, "add_figure"),
    "hparams": (lambda w: w.add_hparams([], {}), TypeError, "add_hparams"),
    "hparam": (lambda w: w.add_hparams({"a": [1]}, {}), ValueError, "a is a list"),
    "embedding": (lambda w: w.add_embedding(tt.ones(2, 2)), NotImplementedError, "add_embedding"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str, tmp_path: Path) -> None:
    function, error, message = WRONG[name]
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        function(writer)


def test_add_graph_warns(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.warns(UserWarning, match="add_graph"):
        writer.add_graph(tt.nn.Linear(2, 2), tt.ones(1, 2))
