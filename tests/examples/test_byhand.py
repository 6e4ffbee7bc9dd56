"""The sheets worked by hand: all are there, all their figures are right, and wrong ones show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tinytensor as tt
from examples.byhand import sheet as sheets
from examples.byhand.notation import layer, linear, matrix, table, table_grad, vector

ROOT = Path(__file__).parents[2]
IDS = [
    "000-residual-block", "000-encoder-block", "001-ResidualBlock-code", "001-PE-n100-d4",
    "003-scaled-score", "003-lookahead-mask", "003/004-onehot-loss", "004-self-attention",
    "004-scaling-demo", "004-PE-n10000-d4", "004-layer-norm", "004-masked-attention",
    "004-mask-3x3", "004-tokenization", "002-I", "002-II", "002-III", "002-IV", "002-V",
    "002-1-MoE", "002-2-RNN", "002-3-Mamba", "002-4-MatMul", "002-5-LLM-sampling",
    "002-6-MLP-pytorch", "002-7-Backprop", "002-8-Transformer", "002-9-BatchNorm", "002-10-GAN",
    "002-11-SelfAttention", "002-12-Dropout", "002-13-Autoencoder", "002-14-VectorDB",
    "002-15-CLIP", "002-16-ResNet", "002-17-GCN", "002-18-DiT", "002-19-Switch", "002-20-RLHF",
    "X-RNN-tanh", "X-ResNet-small", "X-Transformer-small", "X-MultiHead-3", "X-AE-small",
    "X-Backprop-batch2",
]  # fmt: skip

sheets.load()


def test_every_worksheet_is_there() -> None:
    assert sorted(sheets.WORKSHEETS) == sorted(IDS)


@pytest.mark.parametrize("id", IDS)
def test_every_figure_is_right(id: str) -> None:
    sheet = sheets.work(id)
    assert any(line.kind in ("check", "words") for line in sheet.lines)
    assert not sheet.wrong, f"\n{sheet}"


@pytest.mark.parametrize("id", IDS)
def test_every_figure_counts(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With figures that are off in their fifth digit, no comparison passes."""
    monkeypatch.setattr(sheets, "matrix", lambda text: matrix(text) * (1 + 1e-4) + 1e-6)
    checks = [line for line in sheets.work(id).lines if line.kind == "check"]
    assert checks
    assert not [line.name for line in checks if line.right]


# ------------------------------------------------------------------------------------------
# The sheet itself
# ------------------------------------------------------------------------------------------

WRONG = {
    "another number": lambda s: s.check("x", matrix("1 2"), "1 3"),
    "another shape": lambda s: s.check("x", matrix("1 2"), "1; 2"),
    "one number for many": lambda s: s.check("x", matrix("1 1"), "1"),
    "nan": lambda s: s.check("x", float("nan"), "0"),
    "inf for -inf": lambda s: s.check("x", float("inf"), "-inf"),
    "a whole number, nearly": lambda s: s.check("x", 1 + 1e-8, "1"),
    "the sixth digit": lambda s: s.check("x", 0.123457, "0.123456"),
    "another word": lambda s: s.words("x", ["how", "am"], ["how", "are"]),
    "untrue": lambda s: s.holds("x", False),
    "rounded too far": lambda s: s.printed("x", 0.88, "0.9", within=0.01),
    "a slip that is right": lambda s: s.slip("x", 2.0, "2", "none"),
    "read as it is": lambda s: s.misread("x", 2.0, "2", "none"),
    "a wrong gradient": lambda s: s.gradcheck("x", wrong_gradient, vector("1 2")),
}


def wrong_gradient(x: tt.Tensor) -> tt.Tensor:
    return x * x.detach()  # backward sees x·c, finite differences see x²


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_shows(case: str) -> None:
    sheet = sheets.Sheet()
    WRONG[case](sheet)
    assert len(sheet.wrong) == sheet.compared == 1
    assert "✗" in str(sheet)


def test_layout() -> None:
    sheet = sheets.Sheet()
    sheet.given("X", matrix("2 -1; 0 3"))
    sheet.check("y", matrix("2 0.5"), "2 1/2")
    sheet.check("z", matrix("2"), "3")
    sheet.slip("w", 16.0, "21", "a sum")
    margin = " " * 36
    assert str(sheet).splitlines() == [
        "  X".ljust(36) + " 2  -1",
        margin + " 0   3",
        "  y".ljust(34) + "✓   2  0.5",
        "  z".ljust(34) + "✗ 2",
        margin + "expected 3",
        "  w".ljust(34) + "≠ 16",
        margin + "printed 21: a sum",
    ]


def test_an_id_is_there_once() -> None:
    with pytest.raises(ValueError, match="002-I is there twice"):
        sheets.worksheet("002-I", "again")(lambda sheet: None)


# ------------------------------------------------------------------------------------------
# Notation
# ------------------------------------------------------------------------------------------


def test_matrix() -> None:
    assert matrix("1 -2; 1/4 -inf").tolist() == [[1, -2], [0.25, float("-inf")]]
    assert vector("1 -2").tolist() == [1, -2]
    assert matrix("1").dtype == tt.float64


def test_a_layer_is_the_product_with_a_row_of_ones() -> None:
    text, X = "1 -1 5; 2 0 -3", matrix("1 2 3; 4 5 6")
    expected = matrix(text) @ tt.cat([X, tt.ones(1, 3, dtype=tt.float64)])
    made = layer(text)
    made(X).sum().backward()
    assert made(X).tolist() == expected.tolist()
    assert linear(text)(X.mT).mT.tolist() == expected.tolist()
    assert table(made).tolist() == table(linear(text)).tolist() == matrix(text).tolist()
    assert table_grad(made).tolist() == [[6, 15, 3], [6, 15, 3]]  # Σx, Σ1


def test_a_layer_without_bias() -> None:
    made = layer("1 -1 5", bias=False)
    assert made(matrix("1; 2; 3")).tolist() == [[14]]
    assert table(made).tolist() == [[1, -1, 5]]


# ------------------------------------------------------------------------------------------
# The command line
# ------------------------------------------------------------------------------------------


def run(*command: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-X", "utf8", *command], cwd=folder, capture_output=True, encoding="utf-8"
    )


def test_one_module_prints_its_own_sheets() -> None:
    done = run("-m", "examples.byhand.backprop_batch", folder=ROOT)
    heads = [line for line in done.stdout.splitlines() if line[:1] not in ("", " ")]
    assert heads[0].startswith("X-Backprop-batch2")
    assert heads[1:] == ["result: right=16 target=16 ok"]
    assert done.returncode == 0, done.stderr


def test_all_from_another_folder(tmp_path: Path) -> None:
    done = run(str(ROOT / "examples" / "byhand" / "__main__.py"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()[-1].split()
    assert result[0] == "result:" and result[-1] == "ok"
    assert all(id in done.stdout for id in IDS)


def test_a_module_that_is_not_there() -> None:
    done = run("examples/byhand/__main__.py", "nosuch", folder=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("byhand: got 'nosuch', expected one of autoencoder, backprop")


def test_a_wrong_figure_fails_the_run(capsys: pytest.CaptureFixture) -> None:
    sheets.WORKSHEETS["wrong"] = sheets.Worksheet("wrong", lambda s: s.check("x", 1, "2"))
    try:
        with pytest.raises(SystemExit) as stop:
            sheets.main(["wrong"])
    finally:
        del sheets.WORKSHEETS["wrong"]
    assert stop.value.code
    assert capsys.readouterr().out.splitlines()[-1] == "result: right=0 target=1 missed"
