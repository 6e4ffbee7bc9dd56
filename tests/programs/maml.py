"""Meta-learning: a net whose weights are passed in, an inner loop that is differentiated through."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

CONFIG = [
    ("conv2d", [4, 1, 3, 3, 2, 0]), ("relu", [True]), ("bn", [4]), ("max_pool2d", [2, 2, 0]),
    ("flatten", []), ("linear", [3, 36]),
]  # fmt: skip


class Learner(nn.Module):
    """The layers of CONFIG; `vars` are used unless other weights are given."""

    def __init__(self, config):
        super(Learner, self).__init__()
        self.config = config
        self.vars = nn.ParameterList()
        self.vars_bn = nn.ParameterList()
        for name, param in self.config:
            if name == "conv2d":
                w = nn.Parameter(torch.ones(*param[:4]))
                torch.nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(param[0])))
            elif name == "linear":
                w = nn.Parameter(torch.ones(*param))
                torch.nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(param[0])))
            elif name == "bn":
                self.vars.append(nn.Parameter(torch.ones(param[0])))
                self.vars.append(nn.Parameter(torch.zeros(param[0])))
                running_mean = nn.Parameter(torch.zeros(param[0]), requires_grad=False)
                running_var = nn.Parameter(torch.ones(param[0]), requires_grad=False)
                self.vars_bn.extend([running_mean, running_var])

    def forward(self, x, vars=None, bn_training=True):
        if vars is None:
            vars = self.vars
        idx = bn_idx = 0
        for name, param in self.config:
            if name == "conv2d":
                w, b = vars[idx], vars[idx + 1]
                x = F.conv2d(x, w, b, stride=param[4], padding=param[5])
                idx += 2
            elif name == "linear":
                w, b = vars[idx], vars[idx + 1]
                x = F.linear(x, w, b)
                idx += 2
            elif name == "bn":
                w, b = vars[idx], vars[idx + 1]
                mean, var = self.vars_bn[bn_idx], self.vars_bn[bn_idx + 1]
                x = F.batch_norm(x, mean, var, weight=w, bias=b, training=bn_training)
                idx += 2
                bn_idx += 2
            elif name == "flatten":
                x = x.view(x.size(0), -1)
            elif name == "relu":
                x = F.relu(x, inplace=param[0])
            elif name == "max_pool2d":
                x = F.max_pool2d(x, param[0], param[1], param[2])
        assert idx == len(vars)
        assert bn_idx == len(self.vars_bn)
        return x

    def parameters(self, recurse=True):
        return self.vars


def inner_step(net, x, y, weights, lr, create_graph):
    loss = F.cross_entropy(net(x, weights), y)
    grad = torch.autograd.grad(loss, weights, create_graph=create_graph)
    return [w - lr * g for w, g in zip(weights, grad)]


def make():
    return Learner(CONFIG)


def train(net, folder):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    x_spt, x_qry = torch.randn(2, 3, 1, 14, 14), torch.randn(2, 6, 1, 14, 14)
    y_spt = torch.arange(3).repeat(2, 1)
    y_qry = torch.arange(3).repeat_interleave(2).expand(2, -1)
    losses = []
    for second_order in (True, False):
        meta_loss, corrects = 0, 0
        for i in range(x_spt.size(0)):
            fast = list(net.parameters())
            for _ in range(2):
                fast = inner_step(net, x_spt[i], y_spt[i], fast, 0.1, second_order)
            logits = net(x_qry[i], fast)
            meta_loss = meta_loss + F.cross_entropy(logits, y_qry[i])
            with torch.no_grad():
                pred = F.softmax(logits, dim=1).argmax(dim=1)
                corrects += torch.eq(pred, y_qry[i]).sum().item()
        optimizer.zero_grad()
        (meta_loss / x_spt.size(0)).backward()
        optimizer.step()
        losses += [meta_loss.item(), corrects]

    # Reptile, on a copy: move towards the weights after a few steps, all weights in one vector
    clone = copy.deepcopy(net)
    sgd = torch.optim.SGD(clone.parameters(), lr=0.1)
    for _ in range(2):
        sgd.zero_grad()
        F.cross_entropy(clone(x_spt[0]), y_spt[0]).backward()
        sgd.step()
    with torch.no_grad():
        before = _flatten_dense_tensors([p.data for p in net.parameters()])
        after = _flatten_dense_tensors([p.data for p in clone.parameters()])
        moved = before + 0.5 * (after - before)
        for p, new in zip(
            net.parameters(), _unflatten_dense_tensors(moved, tuple(net.parameters()))
        ):
            p.copy_(new)
    return losses + [moved.norm(), (after - before).abs().max()]
