"""Worksheets: files, seeds, students, hints, the command, errors."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tinytensor import graph
from tinytensor.cli import main
from tinytensor.worksheet import KINDS, SIZES, kinds
from tinytensor.worksheet.kinds import make
from tinytensor.worksheet.named import ADD, AFFINE, CHOOSE, MASK, PRODUCT, RELU, power
from tinytensor.worksheet.numbers import is_clean, tolerance, written
from tinytensor.worksheet.rules import SIGN
from tinytensor.worksheet.sheet import Sheet, Unusable

# ------------------------------------------------------------------------------------------
# Numbers
# ------------------------------------------------------------------------------------------

WRITTEN = {3.0: "3", -0.25: "−0.25", 1 / 3: "1/3", -7 / 12: "−7/12", 0.1875: "0.1875", -0.0: "0",
           0.0432109: "0.043", 2 / 3 + 1: "5/3"}  # fmt: skip


@pytest.mark.parametrize("value", WRITTEN, ids=WRITTEN.values())
def test_a_number_as_a_hand_writes_it(value: float) -> None:
    assert written(value) == WRITTEN[value]


def test_what_is_clean() -> None:
    assert all(map(is_clean, (5, -0.0625, 1 / 7, 11 / 12)))
    assert not any(map(is_clean, (1 / 13, 0.03125, 3**0.5, 100)))


# ------------------------------------------------------------------------------------------
# Sheets
# ------------------------------------------------------------------------------------------


def paper() -> Sheet:
    sheet = Sheet(random.Random("test"), base=3.0)
    sheet.section("Test")
    return sheet


def hints(sheet: Sheet, name: str) -> dict[float, str]:
    """The mistakes of the first cell of a matrix."""
    sheet.finish()
    step = next(step for step in sheet.steps if step.result.name == name)
    return dict(step.result.cells[0][0].mistakes)


def test_hints_of_a_product() -> None:
    sheet = paper()
    W = sheet.given("[W | b]", [[2, 3, 5], [7, 1, 0]], "weight")
    X = sheet.given("X", [[1, 4], [10, 20]])
    Z = sheet.step("Z", AFFINE, X.with_ones(), left=W)
    assert Z.values.tolist() == [[37, 73], [17, 48]]
    told = hints(sheet, "Z")
    assert told[32].startswith("The bias is missing")
    assert told[-37] == "Right but for its sign."
    assert told[30].startswith("Not accumulated: this is one product")
    assert told[35].startswith("Not accumulated: one product of the sum is missing")
    assert 37 not in told
    transposed = paper()
    left, top = ([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    transposed.step("C", PRODUCT, transposed.given("B", top), left=transposed.given("A", left))
    told = hints(transposed, "C")  # 1·5 + 2·7 = 19
    assert "on the left" in told[26] and "on top" in told[17]


def test_hints_of_relu_of_its_mask_and_of_sums() -> None:
    sheet = paper()
    Z = sheet.given("Z", [[-3.0, 2.0]])
    G = sheet.given("G", [[5.0, 7.0]], "gradient")
    sheet.step("H", RELU, Z)
    sheet.step("dZ", MASK, G, left=Z)
    sheet.step("sum", ADD, G, left=G)
    assert hints(sheet, "H")[-3].startswith("ReLU is forgotten")
    assert hints(sheet, "dZ")[5].startswith("The ReLU mask is forgotten")
    assert hints(sheet, "sum")[5].startswith("Not accumulated")


def test_a_hint_is_never_near_the_answer_or_another_hint() -> None:
    for name in ("attention-backward", "backprop"):
        for cell in make(name, "medium", 0).blanks:
            values = [cell.value, *(value for value, _ in cell.mistakes)]
            for i, value in enumerate(values):
                assert all(abs(value - x) > tolerance(x) for x in values[:i])


def test_every_softmax_gradient_has_a_hint_for_the_sign() -> None:
    sheet = make("attention-backward", "large", 2, e_is_3=True)
    step = next(step for step in sheet.steps if step.result.name == "dL/dS′")
    for cell in (cell for row in step.result.cells for cell in row):
        told = {hint: value for value, hint in cell.mistakes}
        assert cell.value == 0 or told[SIGN] == pytest.approx(-cell.value)


def test_a_power_of_3_has_its_own_value_as_slope() -> None:
    sheet = paper()
    S = sheet.given("S", [[-1.0, 0.0, 2.0]])
    E = sheet.step("E", power(3.0), S)
    np.testing.assert_allclose(E.values, [[1 / 3, 1, 9]])
    E.tensor.sum().backward()
    assert S.tensor.grad is not None
    np.testing.assert_allclose(S.tensor.grad.numpy(), E.values)


def test_steps_that_miss_a_part_of_the_gradient_are_found() -> None:
    sheet = paper()
    W, X = sheet.given("W", [[1.0, 2.0]]), sheet.given("X", [[3.0, 1.0], [1.0, 1.0]])
    Z = sheet.step("Z", PRODUCT, X, left=W)
    G = sheet.given("dL/dZ", [[1.0, 1.0]], "gradient")
    Z.tensor.square().sum().backward()
    with pytest.raises(AssertionError, match="the steps to dL/dW and backward do not agree"):
        sheet.step("dL/dW", PRODUCT, X.T, left=G, gradient_of=W)


def test_one_node_of_the_hand_worked_sheet() -> None:
    """1·2 − 1·1 + 1·3 − 5 = −1, which ReLU strikes out."""
    sheet = paper()
    x = sheet.given("x", [[2.0], [1.0], [3.0]])
    node = sheet.given("[w | b]", [[1.0, -1.0, 1.0, -5.0]], "weight")
    z = sheet.step("z", AFFINE, x.with_ones(), left=node)
    assert z.values.tolist() == [[-1]]
    assert sheet.step("y", RELU, z).values.tolist() == [[0]]


def test_the_cleanest_draw_is_taken_if_none_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_DRAWS", 0)
    monkeypatch.setattr(kinds, "FEW_DRAWS", 5)
    taken = make("attention-backward", "large", 0, e_is_3=True)
    draw = kinds.Draw(KINDS["attention-backward"], "large", 0)
    others = [draw.sheet(number, 3.0, strict=False) for number in range(5)]
    least = min(sheet.untidiness() for sheet in others if sheet is not None)
    assert taken.untidiness() == least > 0
    monkeypatch.setattr(kinds, "FEW_DRAWS", 0)
    with pytest.raises(RuntimeError, match="no draw of matmul with seed 3 is usable"):
        make("matmul", "small", 3)


def test_draws_that_will_not_do() -> None:
    sheet = paper()
    with pytest.raises(Unusable, match="a ReLU of 0"):
        sheet.step("H", RELU, sheet.given("Z", [[0.0, 1.0]]))
    with pytest.raises(Unusable, match="a tie"):
        sheet.step("C", CHOOSE, sheet.given("G", [[1.0], [1.0]]))
    sheet.strict = True
    with pytest.raises(Unusable, match="E has numbers that are not clean"):
        sheet.step("E", power(3.0), sheet.given("S", [[0.5]]))


@pytest.mark.parametrize("name", KINDS)
def test_kinds_differ_by_seed_and_by_size(name: str) -> None:
    def numbers(size: str, seed: int) -> list[float]:
        return [cell.value for cell in make(name, size, seed).blanks]

    assert numbers("small", 1) == numbers("small", 1)
    assert numbers("small", 1) != numbers("small", 2)
    assert len(numbers("small", 1)) < len(numbers("large", 1))


# ------------------------------------------------------------------------------------------
# Files
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["html", "json"])
def test_the_same_seed_gives_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    """In another process too, where strings have other hashes."""
    here, there = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    graph.worksheet("attention-backward", here, seed=11, e_is_3=True)
    command = [sys.executable, "-m", "tinytensor", "worksheet", "attention-backward", "--e3"]
    subprocess.run([*command, "--seed", "11", "-o", str(there)], check=True, capture_output=True)
    assert here.read_bytes() == there.read_bytes()
    keys = [path.with_name(f"{path.stem}-key.{suffix}").read_bytes() for path in (here, there)]
    assert keys[0] == keys[1] != here.read_bytes()


def test_the_sheet_has_no_answers_and_the_key_has_all(tmp_path: Path) -> None:
    made = graph.worksheet("backprop", tmp_path / "sheet.html", seed=4)
    before_data = made.html[: made.html.index("data-worksheet")]
    cells = re.findall(r"<td class='(?:blank|echo)'[^>]*>(.*?)</td>", before_data)
    assert len(cells) > 24 and {re.sub(r"<input [^>]*>", "", cell) for cell in cells} == {""}
    assert "value=" not in before_data
    answers = re.findall(r"<td class='answer[^']*'>(.*?)</td>", made.key)
    assert answers == [written(cell.value) for cell in made.sheet.blanks]
    assert "<input" not in made.key and "struck" in made.key
    assert made.path == tmp_path / "sheet.html" and made.key_path == tmp_path / "sheet-key.html"


def test_json_has_null_for_what_is_to_be_found(tmp_path: Path) -> None:
    graph.worksheet("matmul", tmp_path / "sheet.json", seed=2)
    sheet, key = (json.loads((tmp_path / name).read_text("utf-8"))
                  for name in ("sheet.json", "sheet-key.json"))  # fmt: skip
    assert (sheet["kind"], sheet["size"], sheet["seed"]) == ("matmul", "small", 2)
    product, *_ = sheet["sections"][0]["steps"]
    assert product["result"]["rows"] == [[None, None], [None, None]] and "checks" not in product
    solved = key["sections"][0]["steps"][0]
    left, top = (np.array(solved[side]["rows"]) for side in ("left", "top"))
    assert solved["result"]["rows"] == (left @ top).tolist()
    assert solved["checks"][0][0]["mistakes"]


def test_one_sheet_for_each_student(tmp_path: Path) -> None:
    made = graph.worksheets("matmul", tmp_path / "sheet.html", ["Ada Lovelace", "Émile"], seed=7)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"sheet-ada-lovelace.html", "sheet-ada-lovelace-key.html", "sheet-émile.html",
                     "sheet-émile-key.html"}  # fmt: skip
    assert "for Ada Lovelace</h1>" in made[0].html and "seed 8" in made[1].html
    alone = graph.worksheet("matmul", None, seed=8)
    values = [[cell.value for cell in each.sheet.blanks] for each in (made[1], alone)]
    assert values[0] == values[1]


def test_names_stay_text() -> None:
    made = graph.worksheet("matmul", None, student="</h1><script>alert(1)</script>")
    assert "<script>alert" not in made.html + made.key
    assert made.path is None


# ------------------------------------------------------------------------------------------
# The command
# ------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "sheet.html"
    assert main(["worksheet", "rnn", "--seed", "3", "--size", "medium", "-o", str(path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{path}: Recurrent network") and "sheet-key.html" in told
    assert main(["worksheet", "matmul", "--students", "3", "-o", str(path)]) == 0
    assert (tmp_path / "sheet-03-key.html").is_file()
    assert main(["worksheet", "matmul", "--students", "Ada, Grace", "-o", str(path)]) == 0
    assert (tmp_path / "sheet-grace.html").is_file()
    capsys.readouterr()
    assert main(["worksheet", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)


WRONG = {
    "kind": (["maths"], "got the kind 'maths', expected one of attention, "),
    "size": (["matmul", "--size", "huge"], "got the size 'huge', expected one of small, medium"),
    "seed": (["matmul", "--seed", "-1"], "got the seed -1, expected a non-negative integer"),
    "suffix": (["matmul", "-o", "sheet.doc"], "sheet.doc, expected a name that ends in .html"),
    "folder": (["matmul", "-o", "nowhere/sheet.html"], "cannot write nowhere/sheet.html"),
    "e": (["matmul", "--e3"], "matmul does not use e, which could be 3; these do: attention"),
    "nobody": (["matmul", "--students", "0"], "got 0 students, expected at least 1"),
    "twice": (["matmul", "--students", "Ada,ada"], "names that give each a file of its own"),
}


@pytest.mark.parametrize("row", WRONG)
def test_wrong_use_is_told_in_one_line(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    arguments, expected = WRONG[row]
    monkeypatch.chdir(tmp_path)
    assert main(["worksheet", *arguments]) == 1
    told = capsys.readouterr().err
    assert expected in told and told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_of_the_function() -> None:
    with pytest.raises(ValueError, match="got the seed 1.5, expected a non-negative integer"):
        graph.worksheet("matmul", None, seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got the size 'tiny', expected one of"):
        graph.worksheet("matmul", None, size="tiny")
    assert SIZES == ("small", "medium", "large")


def test_names_of_files_from_hostile_names(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    names = ["../../up", "/root", 20_000 * "a", 9000 * "层", "nul\0x", "half\ud800y", "=1+1", "A|B"]
    made = graph.worksheets("matmul", folder / "sheet.json", names)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    files = {path.name for path in folder.iterdir()}
    assert len(files) == 2 * len(names) and "sheet-up.json" in files
    assert all(len(name.encode()) < 200 for name in files)
    assert all(sheet.path is not None and sheet.path.name in files for sheet in made)
    with pytest.raises(ValueError, match="each a file of its own") as raised:
        graph.worksheets("matmul", folder / "sheet.json", [20_000 * "a" + "b", 20_000 * "a"])
    assert len(str(raised.value)) < 300
