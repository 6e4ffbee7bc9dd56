"""Functions of functions: per-sample gradients, MAML, ensembles, Jacobians and Hessians."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call, grad, hessian as func_hessian, jacfwd, jacrev, jvp
from torch.func import stack_module_state, vjp, vmap


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 3, 1)
        self.conv2 = nn.Conv2d(3, 4, 3, 1)
        self.fc1 = nn.Linear(64, 8)
        self.fc2 = nn.Linear(8, 5)

    def forward(self, x):
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


class SimpleMLP(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.fc1 = nn.Linear(12, 16)
        self.fc2 = nn.Linear(16, num_classes)

    def forward(self, x):
        x = x.flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def loss_fn(predictions, targets):
    return F.nll_loss(predictions, targets)


def make():
    ensemble = nn.ModuleList(SimpleMLP() for _ in range(3))
    return {"cnn": SimpleCNN(), "ensemble": ensemble, "sine": Sine()}


def per_sample_gradients(model, data, targets):
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def compute_loss(params, buffers, sample, target):
        batch = sample.unsqueeze(0)
        targets = target.unsqueeze(0)
        predictions = functional_call(model, (params, buffers), (batch,))
        return loss_fn(predictions, targets)

    ft_compute_grad = grad(compute_loss)
    ft_compute_sample_grad = vmap(ft_compute_grad, in_dims=(None, None, 0, 0))
    return ft_compute_sample_grad(params, buffers, data, targets)


def maml_loss(net, x_train, y_train, x_test, y_test):
    params = dict(net.named_parameters())

    def inner(params):
        return F.mse_loss(functional_call(net, params, (x_train,)), y_train)

    grads = torch.autograd.grad(inner(params), tuple(params.values()), create_graph=True)
    adapted = {k: p - 0.1 * g for (k, p), g in zip(params.items(), grads)}
    return F.mse_loss(functional_call(net, adapted, (x_test,)), y_test)


def train(models, folder):
    results = []
    data, targets = torch.randn(6, 1, 12, 12), torch.randint(0, 5, (6,))
    grads = per_sample_gradients(models["cnn"], data, targets)
    results += [list(grads), grads["fc2.bias"], grads["conv1.weight"]]
    loss_fn(models["cnn"](data), targets).backward()
    results.append(
        torch.allclose(grads["fc1.weight"].mean(0), models["cnn"].fc1.weight.grad, atol=1e-6)
    )

    ensemble = list(models["ensemble"])
    params, buffers = stack_module_state(ensemble)

    def fmodel(params, buffers, x):
        return functional_call(ensemble[0], (params, buffers), (x,))

    minibatches = torch.randn(3, 4, 3, 4)
    predictions = vmap(fmodel)(params, buffers, minibatches)
    same = vmap(fmodel, in_dims=(0, 0, None))(params, buffers, minibatches[0])
    results += [predictions, same]

    meta = torch.optim.Adam(models["sine"].parameters(), lr=1e-2)
    for _ in range(2):
        x = torch.rand(10, 1) * 4 - 2
        y = torch.sin(x + 0.3)
        loss = maml_loss(models["sine"], x[:5], y[:5], x[5:], y[5:])
        meta.zero_grad()
        loss.backward()
        meta.step()
        results.append(loss.item())

    W, x, v = torch.randn(4, 3), torch.randn(3), torch.randn(3)

    def predict(x):
        return torch.tanh(W @ x)

    value, tangent = jvp(predict, (x,), (v,))
    _, pullback = vjp(predict, x)
    results += [jacrev(predict)(x), jacfwd(predict)(x), value, tangent, pullback(torch.ones(4))]
    results += [func_hessian(lambda x: predict(x).square().sum())(x), jacobian(predict, x)]
    results += [
        hessian(lambda x: predict(x).sum(), x),
        vmap(torch.dot)(torch.eye(3), torch.ones(3, 3)),
    ]
    eye = torch.eye(4)
    z = x.clone().requires_grad_()
    rows = torch.autograd.grad(predict(z), z, eye, is_grads_batched=True)[0]
    return results + [rows]
