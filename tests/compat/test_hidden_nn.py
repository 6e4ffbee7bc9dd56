"""A user's own nn.py or folder nn: `tinytensor.nn` leads to the layers, and one line says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import pickle
import sys

import tinytensor as torch
import tinytensor.nn.functional as F
import tinytensor.optim.swa_utils
from tinytensor.nn.modules.loss import MSELoss
from tinytensor.nn.utils.stateless import functional_call

model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
F.mse_loss(model(torch.ones(4, 3)), torch.ones(4, 2)).backward()
assert model[0].weight.grad.shape == (2, 3)
assert torch.nn.MSELoss is MSELoss and sys.modules["tinytensor.nn"] is torch.nn
assert torch.equal(pickle.loads(pickle.dumps(model))[0].weight, model[0].weight)
loaded = torch.load("model.pt", weights_only=False)
assert type(loaded) is torch.nn.Linear
torch.graph.trace(model(torch.ones(4, 3)).sum())
"""


def run(folder: Path, code: str) -> str:
    """What a script in `folder` writes to stderr; it must succeed."""
    (folder / "script.py").write_text(code)
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("place", ["nn.py", "nn/__init__.py"])
def test_tinytensor_nn_is_found_whatever_else_is_called_nn(tmp_path: Path, place: str) -> None:
    # A module saved where nothing hides the package names its class nn.linear.Linear.
    assert (
        run(tmp_path, "import nn, tinytensor; tinytensor.save(nn.Linear(1, 1), 'model.pt')") == ""
    )
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("MINE = 1\n")
    told = run(tmp_path, PROGRAM)
    assert told.count("UserWarning") == 1
    assert (
        f"`import nn` finds {tmp_path / place}, not the layers; write `import tinytensor.nn" in told
    )
    run(tmp_path, "import tinytensor.nn, nn; assert nn.MINE == 1 and tinytensor.nn is not nn")
