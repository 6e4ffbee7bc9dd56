"""Recurrent language models: an LSTM over characters, and a cell of one's own over names."""

import math
import string

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog and the cat sat on the mat. " * 3
CHARS = sorted(set(TEXT))
STOI = {c: i for i, c in enumerate(CHARS)}


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.0, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("tied weights need nhid == emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (
                weight.new_zeros(self.nlayers, bsz, self.nhid),
                weight.new_zeros(self.nlayers, bsz, self.nhid),
            )
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


class NameRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((input, hidden), 1)))
        return self.softmax(self.h2o(hidden)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


class PackedClassifier(nn.Module):
    """Lines of different lengths, packed, through a GRU in both directions."""

    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, 6, padding_idx=0)
        self.gru = nn.GRU(6, hidden, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(6, hidden)
        self.fc = nn.Linear(3 * hidden, 3)

    def forward(self, lines):
        lengths = torch.tensor([len(line) for line in lines])
        padded = nn.utils.rnn.pad_sequence(lines, batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(padded), lengths, batch_first=True, enforce_sorted=False
        )
        output, h_n = self.gru(packed)
        output, out_lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        assert out_lengths.tolist() == lengths.tolist()
        state = None
        for t in range(2):
            state = self.cell(self.embed(padded[:, t]), state)
        return self.fc(torch.cat([h_n[-2], h_n[-1], state[0]], dim=1)), output


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


def letter_tensor(line):
    letters = string.ascii_letters + " .,;'"
    tensor = torch.zeros(len(line), 1, len(letters))
    for li, letter in enumerate(line):
        tensor[li][0][letters.find(letter)] = 1
    return tensor


def make():
    n = len(CHARS)
    return {
        "lstm": RNNModel("LSTM", n, 10, 10, 2, tie_weights=True),
        "gru": RNNModel("GRU", n, 6, 8, 1),
        "relu": RNNModel("RNN_RELU", n, 6, 8, 2),
        "names": NameRNN(57, 8, 3),
        "packed": PackedClassifier(27, 5),
    }


def train(models, folder):
    results = []
    ids = torch.tensor([STOI[c] for c in TEXT], dtype=torch.long)
    source = batchify(ids, 6)
    criterion = nn.NLLLoss()
    for name in ("lstm", "gru", "relu"):
        model = models[name]
        model.train()
        hidden, lr, total = model.init_hidden(6), 2.0, 0.0
        for i in range(0, source.size(0) - 1, 9):
            data, targets = get_batch(source, i, 9)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += loss.item() * len(data)
        results += [total, math.exp(loss.item())]
        model.eval()
        word, hidden, text = torch.zeros(1, 1, dtype=torch.long), model.init_hidden(1), ""
        with torch.no_grad():
            for _ in range(10):
                output, hidden = model(word, hidden)
                word_weights = output.squeeze().div(0.7).exp().cpu()
                word.fill_(torch.argmax(word_weights))
                text += CHARS[word.item()]
        results.append(text)

    rnn = models["names"]
    for line, label in (("Satoshi", 0), ("O'Neal", 1), ("Ivanov", 2)):
        category_tensor = torch.tensor([label], dtype=torch.long)
        line_tensor, hidden = letter_tensor(line), rnn.initHidden()
        rnn.zero_grad()
        for i in range(line_tensor.size()[0]):
            output, hidden = rnn(line_tensor[i], hidden)
        loss = criterion(output, category_tensor)
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        top_n, top_i = output.topk(1)
        results += [loss.item(), top_i[0].item()]

    net = models["packed"]
    words = ["cat", "mouse", "ox", "elephant"]
    lines = [torch.LongTensor([ord(c) - 96 for c in word]) for word in words]
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        logits, output = net(lines)
        loss = F.cross_entropy(logits, torch.tensor([0, 1, 2, 0])) + 0.1 * output.pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.1)
        optimizer.step()
        results.append(loss.item())
    return [*results, net.embed.weight.grad[0], output]
