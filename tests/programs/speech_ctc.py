"""Letters from a sequence of frames: convolutions, recurrent layers over packed sequences, CTC."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class TextTransform:
    def __init__(self):
        self.char_map = {c: i for i, c in enumerate("' abcdefghijklmnopqrstuvwxyz")}
        self.index_map = {i: c for c, i in self.char_map.items()}

    def text_to_int(self, text):
        return [self.char_map[c] for c in text]

    def int_to_text(self, labels):
        return "".join(self.index_map[i] for i in labels).replace("_", " ")


class CNNLayerNorm(nn.Module):
    """Layer normalization built for cnns input"""

    def __init__(self, n_feats):
        super(CNNLayerNorm, self).__init__()
        self.layer_norm = nn.LayerNorm(n_feats)

    def forward(self, x):
        x = x.transpose(2, 3).contiguous()
        x = self.layer_norm(x)
        return x.transpose(2, 3).contiguous()


class ResidualCNN(nn.Module):
    def __init__(self, channels, kernel, n_feats):
        super(ResidualCNN, self).__init__()
        self.cnn1 = nn.Conv2d(channels, channels, kernel, 1, padding=kernel // 2)
        self.cnn2 = nn.Conv2d(channels, channels, kernel, 1, padding=kernel // 2)
        self.layer_norm1 = CNNLayerNorm(n_feats)
        self.layer_norm2 = CNNLayerNorm(n_feats)

    def forward(self, x):
        residual = x
        x = self.cnn1(F.gelu(self.layer_norm1(x)))
        x = self.cnn2(F.gelu(self.layer_norm2(x)))
        x += residual
        return x


class BidirectionalGRU(nn.Module):
    def __init__(self, rnn_dim, hidden_size):
        super(BidirectionalGRU, self).__init__()
        self.BiGRU = nn.GRU(rnn_dim, hidden_size, num_layers=1, batch_first=True,
                            bidirectional=True)  # fmt: skip
        self.layer_norm = nn.LayerNorm(rnn_dim)

    def forward(self, x, lengths):
        x = F.gelu(self.layer_norm(x))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, _ = self.BiGRU(packed)
        x, _ = pad_packed_sequence(x, batch_first=True)
        return x


class SpeechRecognitionModel(nn.Module):
    def __init__(self, n_feats=8, rnn_dim=10, n_class=29):
        super(SpeechRecognitionModel, self).__init__()
        self.cnn = nn.Conv2d(1, 3, 3, stride=2, padding=3 // 2)
        self.rescnn_layers = nn.Sequential(ResidualCNN(3, kernel=3, n_feats=n_feats // 2))
        self.fully_connected = nn.Linear(3 * n_feats // 2, rnn_dim)
        self.birnn = BidirectionalGRU(rnn_dim, rnn_dim)
        self.classifier = nn.Linear(rnn_dim * 2, n_class)

    def forward(self, x, lengths):
        x = self.cnn(x)
        x = self.rescnn_layers(x)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3]).transpose(1, 2)
        x = self.fully_connected(x)
        x = self.birnn(x, lengths)
        return self.classifier(x)


def GreedyDecoder(output, blank_label=28, collapse_repeated=True):
    text_transform, decodes = TextTransform(), []
    for args in torch.argmax(output, dim=2):
        decode = []
        for j, index in enumerate(args):
            if index != blank_label:
                if collapse_repeated and j != 0 and index == args[j - 1]:
                    continue
                decode.append(index.item())
        decodes.append(text_transform.int_to_text(decode))
    return decodes


def data_processing(words):
    transform = TextTransform()
    labels, label_lengths = [], []
    for word in words:
        label = torch.Tensor(transform.text_to_int(word))
        labels.append(label)
        label_lengths.append(len(label))
    return pad_sequence(labels, batch_first=True), label_lengths


def make():
    return SpeechRecognitionModel()


def train(model, folder):
    words, frames = ["hello", "a cat", "we"], [24, 20, 13]
    spectrograms = torch.randn(3, 1, 8, 24)
    labels, label_lengths = data_processing(words)
    input_lengths = [(n + 1) // 2 for n in frames]
    criterion = nn.CTCLoss(blank=28)
    optimizer = optim.SGD(model.parameters(), 5e-3, momentum=0.9)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, steps_per_epoch=1, epochs=4,
                                              anneal_strategy="linear")  # fmt: skip
    results = [labels, label_lengths]
    for _ in range(4):
        optimizer.zero_grad()
        output = model(spectrograms, torch.tensor(input_lengths))
        output = F.log_softmax(output, dim=2).transpose(0, 1)
        loss = criterion(output, labels.int(), input_lengths, label_lengths)
        loss.backward()
        optimizer.step()
        scheduler.step()
        results += [loss.item(), scheduler.get_last_lr()]
    each = F.ctc_loss(output.detach(), labels.long(), torch.tensor(input_lengths),
                      torch.tensor(label_lengths), blank=28, reduction="none")  # fmt: skip
    return results + [each, GreedyDecoder(output.transpose(0, 1))]
