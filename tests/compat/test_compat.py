"""Training code written for PyTorch mentions these names; they are there and change nothing."""

from __future__ import annotations

import pytest

import tinytensor as torch


def test_a_training_loop_with_all_the_trimmings() -> None:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    w = torch.randn(3, requires_grad=True)
    scaler = torch.amp.GradScaler(enabled=False)
    optimizer = torch.optim.AdamW([w], lr=0.1, fused=False, foreach=None)
    x = torch.randn(8, 3).pin_memory().to("cpu", non_blocking=True)

    @torch.compile
    def loss_of(weights: torch.Tensor) -> torch.Tensor:
        return (x @ weights - 1).square().mean()

    first = loss_of(w).item()
    for _ in range(50):
        with torch.autocast(device_type="cpu", dtype=torch.float16):
            loss = loss_of(w)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    assert loss.item() < first / 2 and loss.dtype == torch.float16


def test_typed_constructors() -> None:
    assert torch.LongTensor([1, 2]).dtype == torch.int64
    assert torch.FloatTensor([[1, 2]]).tolist() == [[1.0, 2.0]]
    assert tuple(torch.FloatTensor(2, 3).shape) == (2, 3)
    assert torch.BoolTensor([0, 3]).tolist() == [False, True]
    assert torch.ByteTensor().numel() == 0
    x = torch.ones(2)
    assert isinstance(x, torch.FloatTensor) and not isinstance(x, torch.LongTensor)
    assert x.type(torch.LongTensor).dtype == torch.int64


def test_compile_as_a_decorator_with_options() -> None:
    @torch.compile(mode="max-autotune")
    def double(x: int) -> int:
        return 2 * x

    assert double(2) == 4
    with pytest.raises(RuntimeError, match="got 'low', expected 'highest'"):
        torch.set_float32_matmul_precision("low")
