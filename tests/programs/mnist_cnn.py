"""The convolutional net for handwritten digits that every tutorial begins with."""

import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 6, 3, 1)
        self.conv2_drop = nn.Dropout2d(0.0)
        self.dropout1 = nn.Dropout(0.0)
        self.fc1 = nn.Linear(96, 16)
        self.fc2 = nn.Linear(16, 10)

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.conv2_drop(F.relu(self.conv2(x)))
        x = F.max_pool2d(x, (2, 2))
        x = self.dropout1(x)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x), inplace=True)
        x = F.dropout(x, p=0.0, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def images(n):
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (n, 12, 12), dtype=np.uint8)
    target = rng.integers(0, 10, n)
    x = torch.from_numpy(data).unsqueeze(1).float().div(255).sub_(0.1307).div_(0.3081)
    return TensorDataset(x, torch.from_numpy(target).long())


def train_epoch(args, model, device, train_loader, optimizer, epoch, log):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            log.append(
                "Train Epoch: {} [{}/{} ({:.0f}%)]".format(
                    epoch,
                    batch_idx * len(data),
                    len(train_loader.dataset),
                    100.0 * batch_idx / len(train_loader),
                )
            )
            log.append(loss.item())


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            _, predicted = torch.max(output.data, 1)
            assert (predicted == pred.squeeze(1)).all()
    test_loss /= len(test_loader.dataset)
    return test_loss, correct, f"{correct}/{len(test_loader.dataset)}"


def make():
    return Net()


def train(model, folder):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--log-interval", type=int, default=2)
    args = parser.parse_args([])
    use_cuda = torch.cuda.is_available()
    torch.manual_seed(1)
    device = torch.device("cuda" if use_cuda else "cpu")
    train_kwargs = {"batch_size": 8}
    test_kwargs = {"batch_size": 16}
    if use_cuda:
        cuda_kwargs = {"num_workers": 1, "pin_memory": True, "shuffle": True}
        train_kwargs.update(cuda_kwargs)
        test_kwargs.update(cuda_kwargs)
    dataset = images(40)
    train_loader = DataLoader(Subset(dataset, range(24)), **train_kwargs)
    test_loader = DataLoader(Subset(dataset, list(range(24, 40))), **test_kwargs)
    shuffled = DataLoader(dataset, batch_size=16, shuffle=True, drop_last=True)
    parts = random_split(dataset, [30, 10], generator=torch.Generator().manual_seed(42))
    shapes = [[tuple(x.shape), tuple(y.shape)] for x, y in shuffled]
    model = model.to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    log = []
    for epoch in range(1, 3):
        train_epoch(args, model, device, train_loader, optimizer, epoch, log)
        log.append(test(model, device, test_loader))
        scheduler.step()
    torch.save(model.state_dict(), os.path.join(folder, "mnist_cnn.pt"))
    again = Net()
    again.load_state_dict(torch.load(os.path.join(folder, "mnist_cnn.pt"), weights_only=True))
    same = test(again, device, test_loader) == test(model, device, test_loader)
    lr = scheduler.get_last_lr()
    return [log, shapes, [len(p) for p in parts], same, lr, str(device), device.type]
