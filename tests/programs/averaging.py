"""A trainer with what large code bases import: averaged weights, tracing, accelerators, logs."""

import os
from collections import OrderedDict, deque

import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.fx
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.onnx
import torch.utils.checkpoint as cp
from torch.jit import Final
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.sampler import RandomSampler


@torch.fx.wrap
def scaled(x, by):
    return x * by


class DenseLayer(nn.Module):
    memory_efficient: Final[bool]

    def __init__(self, width, memory_efficient=True):
        super().__init__()
        self.norm1 = nn.BatchNorm1d(width)
        self.linear = nn.Linear(width, width)
        self.memory_efficient = memory_efficient

    def bn_function(self, inputs):
        concated = torch.cat(inputs, 1)
        return self.linear(F.relu(self.norm1(concated)))

    @torch.jit.unused
    def call_checkpoint(self, inputs):
        return cp.checkpoint(lambda *xs: self.bn_function(xs), *inputs, use_reentrant=False)

    def forward(self, inputs):
        if self.memory_efficient and any(x.requires_grad for x in inputs):
            return self.call_checkpoint(inputs)
        return self.bn_function(inputs)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(OrderedDict([("fc", nn.Linear(6, 8)), ("bn", nn.BatchNorm1d(8))]))
        self.dense = DenseLayer(16)
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        torch._assert(x.dim() == 2, "expected (N, 6)")
        h = self.stem(x)
        h = self.dense([h, scaled(h, 0.5)])
        q, k, v = self.qkv(h).view(len(h), 1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        with sdpa_kernel([SDPBackend.MATH]):
            a = F.scaled_dot_product_attention(
                q.transpose(0, 2), k.transpose(0, 2), v.transpose(0, 2)
            )
        return self.head(h + a.transpose(0, 2).reshape(len(h), 16))


class SmoothedValue(object):
    """Track a series of values and provide access to smoothed values over a window."""

    def __init__(self, window_size=20):
        self.deque = deque(maxlen=window_size)
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.deque.append(value)
        self.count += n
        self.total += value * n

    @property
    def median(self):
        d = torch.tensor(list(self.deque))
        return d.median().item()

    @property
    def avg(self):
        return torch.tensor(self.deque, dtype=torch.float32).mean().item()


def make():
    return Net()


def train(model, folder):
    cudnn.benchmark = True
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    results = [str(device), mp.get_start_method(allow_none=True) in (None, "fork", "spawn")]
    results += [dist.is_available() and dist.is_initialized(), torch.cuda.is_available()]
    data = TensorDataset(torch.randn(32, 6), torch.randint(0, 4, (32,)))
    sampler = DistributedSampler(data, num_replicas=2, rank=0, shuffle=False)
    loader = DataLoader(data, batch_size=8, sampler=sampler, drop_last=True)
    endless = RandomSampler(data, replacement=True, num_samples=int(1e10))
    results += [len(loader), len(endless)]

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    swa_model = AveragedModel(model)
    ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    swa_scheduler = SWALR(optimizer, anneal_strategy="linear", anneal_epochs=2, swa_lr=0.01)
    smoothed = SmoothedValue(3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for input, target in loader:
            input, target = tree_map(lambda t: t.to(device, non_blocking=True), (input, target))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(input), target)
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            smoothed.update(loss.item())
        swa_model.update_parameters(model)
        swa_scheduler.step()
        results += [smoothed.median, smoothed.avg, swa_scheduler.get_last_lr()]
    update_bn(loader, swa_model)
    results += [int(swa_model.n_averaged), swa_model.module.stem.bn.running_mean]
    path = os.path.join(folder, "whole.pt")
    torch.save({"model": model.state_dict(), "epoch": 3, "args": {"lr": 0.05}}, path)
    with open(path, "rb") as f:
        checkpoint = torch.load(f, map_location=torch.device("cpu"), weights_only=True)
    results += [checkpoint["epoch"], checkpoint["args"], sorted(checkpoint["model"])]
    x = torch.randn(5, 6)
    model.eval()
    with torch.no_grad():
        return results + [model(x), swa_model.eval()(x), ema_model.eval()(x)]
