"""Every distribution on the stand-in for a GPU: draws, densities, entropies, gradients."""

from collections.abc import Iterator

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import devices
from tinytensor.create.generator import _defaults

from ..standin import fake_cupy as cp
from .cases import CASES, Case


@pytest.fixture(autouse=True)
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)
    _defaults.pop(tt.device("cuda"), None)  # the generator of a device that is gone


def build(case: Case, device: str):
    args, leaves = {}, []
    for name, value in case.args.items():
        if isinstance(value, list):
            value = tt.tensor(value, device=device, requires_grad=True)
            leaves.append(value)
        elif isinstance(value, (np.ndarray, float)):
            value = tt.tensor(value, device=device)
        args[name] = value
    return getattr(tt.distributions, case.name)(**args), leaves


@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_a_gpu(case: Case):
    here, there = build(case, "cpu")[0], build(case, "cuda")[0]
    value = tt.tensor(case.values)
    ours = there.log_prob(value.to("cuda"))
    assert ours.device.type == "cuda"
    np.testing.assert_allclose(ours.detach().cpu().numpy(), here.log_prob(value).detach().numpy(),
                               rtol=1e-5, atol=1e-6)  # fmt: skip
    draw = there.sample((3,))
    assert draw.device.type == "cuda" and bool(there.log_prob(draw).isfinite().any())
    if there.has_rsample:
        d, leaves = build(case, "cuda")
        (d.rsample((3,)) ** 2).sum().backward()
        assert all(leaf.grad is not None and leaf.grad.device.type == "cuda" for leaf in leaves)
    for name in ("entropy", "mean", "variance", "mode"):
        try:
            found = getattr(there, name)
            found = found() if callable(found) else found
        except NotImplementedError:
            continue
        assert found.device.type == "cuda", name
