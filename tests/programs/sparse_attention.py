"""Attention over the edges of a graph, with a sparse product whose backward is written by hand."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class EdgeProduct(torch.autograd.Function):
    """y = A @ b, where A has the given values at the given positions and zeros elsewhere."""

    @staticmethod
    def forward(ctx, indices, values, shape, b):
        assert not indices.requires_grad
        a = torch.sparse_coo_tensor(indices, values, shape, check_invariants=False)
        ctx.save_for_backward(a, b)
        ctx.columns = shape[1]
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_values = grad_b = None
        if ctx.needs_input_grad[1]:
            dense = grad_output.matmul(b.t())
            place = a._indices()[0, :] * ctx.columns + a._indices()[1, :]
            grad_values = dense.reshape(-1)[place]
        if ctx.needs_input_grad[3]:
            grad_b = a.t().matmul(grad_output)
        return None, grad_values, None, grad_b


class Head(nn.Module):
    def __init__(self, fan_in, fan_out, slope):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(fan_in, fan_out))
        self.score = nn.Parameter(torch.zeros(1, 2 * fan_out))
        nn.init.xavier_normal_(self.weight.data, gain=1.414)
        nn.init.xavier_normal_(self.score.data, gain=1.414)
        self.leaky = nn.LeakyReLU(slope)

    def forward(self, x, adjacency):
        n = x.size(0)
        edges = adjacency.nonzero().t()
        h = torch.mm(x, self.weight)
        ends = torch.cat((h[edges[0, :], :], h[edges[1, :], :]), dim=1).t()
        power = torch.exp(-self.leaky(self.score.mm(ends).squeeze()))
        assert not torch.isnan(power).any()
        ones = torch.ones(size=(n, 1))
        total = EdgeProduct.apply(edges, power, torch.Size([n, n]), ones)
        return F.elu(EdgeProduct.apply(edges, power, torch.Size([n, n]), h).div(total))


class Net(nn.Module):
    def __init__(self, fan_in, hidden, classes, heads):
        super().__init__()
        self.heads = [Head(fan_in, hidden, 0.2) for _ in range(heads)]
        for i, head in enumerate(self.heads):
            self.add_module("head_{}".format(i), head)
        self.last = Head(hidden * heads, classes, 0.2)

    def forward(self, x, adjacency):
        x = torch.cat([head(x, adjacency) for head in self.heads], dim=1)
        return F.log_softmax(self.last(x, adjacency), dim=1)


def make():
    return Net(6, 5, 3, 2)


def train(net, folder):
    n = 14
    features, labels = torch.randn(n, 6), torch.randint(0, 3, (n,))
    adjacency = torch.eye(n) + torch.diag(torch.ones(n - 1), 1) + torch.diag(torch.ones(n - 1), -1)
    assert torch.__version__ >= "1.5.0"
    optimizer = optim.Adam(net.parameters(), lr=5e-3, weight_decay=5e-4)
    losses = []
    for _ in range(5):
        net.train()
        optimizer.zero_grad()
        output = net(features, adjacency)
        loss = F.nll_loss(output[:10], labels[:10])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "output": output.detach()}
