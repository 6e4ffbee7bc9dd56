"""A speech recogniser: masked convolutions, packed recurrent layers, look-ahead, CTC."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskConv(nn.Module):
    """Convolutions after each of which the frames beyond a sequence's end are zeros."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x, lengths):
        for module in self.layers:
            x = module(x)
            mask = torch.BoolTensor(x.size()).fill_(0)
            for i, length in enumerate(lengths):
                length = length.item()
                if mask[i].size(2) - length > 0:
                    mask[i].narrow(2, length, mask[i].size(2) - length).fill_(1)
            x = x.masked_fill(mask, 0)
        return x, lengths


class SequenceWise(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        t, n = x.size(0), x.size(1)
        return self.module(x.view(t * n, -1)).view(t, n, -1)


class BatchRNN(nn.Module):
    def __init__(self, input_size, hidden_size, kind, batch_norm):
        super().__init__()
        self.norm = SequenceWise(nn.BatchNorm1d(input_size)) if batch_norm else None
        self.rnn = kind(input_size, hidden_size, bidirectional=True, bias=True)

    def forward(self, x, lengths):
        if self.norm is not None:
            x = self.norm(x)
        x = nn.utils.rnn.pack_padded_sequence(x, lengths)
        x, _ = self.rnn(x)
        x, _ = nn.utils.rnn.pad_packed_sequence(x)
        return x.view(x.size(0), x.size(1), 2, -1).sum(2).view(x.size(0), x.size(1), -1)


class Lookahead(nn.Module):
    def __init__(self, features, context):
        super().__init__()
        self.pad = (0, context - 1)
        self.conv = nn.Conv1d(features, features, context, groups=features, bias=False)

    def forward(self, x):
        x = F.pad(x.transpose(0, 1).transpose(1, 2), pad=self.pad, value=0)
        return self.conv(x).transpose(1, 2).transpose(0, 1).contiguous()


class DeepSpeech(nn.Module):
    def __init__(self, labels=6, features=10, hidden=8):
        super().__init__()
        self.conv = MaskConv(nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=(5, 3), stride=(2, 2), padding=(2, 1)),
            nn.BatchNorm2d(4),
            nn.Hardtanh(0, 20, inplace=True),
        ))  # fmt: skip
        self.rnns = nn.ModuleList([BatchRNN(4 * features // 2, hidden, nn.GRU, False),
                                   BatchRNN(hidden, hidden, nn.LSTM, True)])  # fmt: skip
        self.lookahead = nn.Sequential(Lookahead(hidden, 3), nn.Hardtanh(0, 20, inplace=True))
        self.fc = SequenceWise(nn.Sequential(nn.BatchNorm1d(hidden), nn.Linear(hidden, labels)))

    def output_lengths(self, lengths):
        for m in self.conv.modules():
            if type(m) is nn.Conv2d:
                kernel, stride, padding = m.kernel_size[1], m.stride[1], m.padding[1]
                lengths = (lengths + 2 * padding - (kernel - 1) - 1) // stride + 1
        return lengths.int()

    def forward(self, x, lengths):
        lengths = self.output_lengths(lengths.cpu().int())
        x, _ = self.conv(x, lengths)
        n, c, f, t = x.size()
        x = x.view(n, c * f, t).transpose(1, 2).transpose(0, 1).contiguous()
        for rnn in self.rnns:
            x = rnn(x, lengths)
        return self.fc(self.lookahead(x)).transpose(0, 1), lengths


def make():
    return DeepSpeech()


def train(model, folder):
    criterion = nn.CTCLoss(blank=0, reduction="sum", zero_infinity=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    history = []
    for _ in range(4):
        x = torch.randn(3, 1, 10, 24)
        lengths = torch.IntTensor([24, 20, 15])
        targets, sizes = torch.IntTensor([1, 2, 3, 1, 5, 5, 4]), torch.IntTensor([3, 2, 2])
        out, out_lengths = model(x, lengths)
        out = out.transpose(0, 1).log_softmax(-1)
        loss = criterion(out, targets, out_lengths, sizes) / x.size(0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 400)
        optimizer.step()
        history.append(loss.item())
    model.eval()
    with torch.no_grad():
        out, out_lengths = model(x, lengths)
        best = F.softmax(out, dim=-1).max(2)
    return [history, out_lengths, best.indices, best.values]
