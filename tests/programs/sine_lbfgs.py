"""L-BFGS with a closure: sine waves by LSTM cells, a fit to physics, an image by its features."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 9)
        self.lstm2 = nn.LSTMCell(9, 9)
        self.linear = nn.Linear(9, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 9, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 9, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 9, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 9, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


class PINN(nn.Module):
    """u'' = -u with u(0) = 0, u'(0) = 1, by the network's own derivatives."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(),
                                 nn.Linear(12, 1))  # fmt: skip

    def residual(self, t):
        u = self.net(t)
        du = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), create_graph=True)[0]
        ddu = torch.autograd.grad(du, t, grad_outputs=torch.ones_like(du), create_graph=True)[0]
        return ddu + u, u[0], du[0]


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


def make():
    np.random.seed(0)
    torch.manual_seed(0)
    features = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 5, 3, padding=1)
    )
    return {"seq": Sequence().double(), "pinn": PINN().double(), "features": features.double()}


def train(models, folder):
    results = []
    data = np.empty((5, 22), "float64")
    data[:] = np.sin(np.array(range(22)) / 3.0 + np.arange(5).reshape(5, 1))
    input, target = torch.from_numpy(data[2:, :-1]), torch.from_numpy(data[2:, 1:])
    seq, criterion = models["seq"], nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
    for _ in range(2):

        def closure():
            optimizer.zero_grad()
            out = seq(input)
            loss = criterion(out, target)
            results.append(loss.item())
            loss.backward()
            return loss

        optimizer.step(closure)
    with torch.no_grad():
        results.append(seq(input, future=4)[:, -5:])

    pinn = models["pinn"]
    t = torch.linspace(0, 2, 12, dtype=torch.double).view(-1, 1).requires_grad_(True)
    optimizer = optim.LBFGS(pinn.parameters(), max_iter=8, history_size=10, tolerance_grad=1e-9,
                            line_search_fn="strong_wolfe")  # fmt: skip

    def physics():
        optimizer.zero_grad()
        r, u0, du0 = pinn.residual(t)
        loss = r.pow(2).mean() + (u0 - 0).pow(2).sum() + (du0 - 1).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(2):
        results.append(optimizer.step(physics).item())

    style, image = torch.rand(1, 3, 6, 6).double(), torch.rand(1, 3, 6, 6).double()
    image.requires_grad_(True)
    wanted = gram_matrix(models["features"](style)).detach()
    optimizer, run = optim.LBFGS([image]), [0]
    while run[0] <= 3:

        def match():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            loss = 1e4 * nn.functional.mse_loss(gram_matrix(models["features"](image)), wanted)
            loss.backward()
            run[0] += 1
            return loss

        results.append(optimizer.step(match).item())
    return results + [image]
