"""Translation with recurrent networks: an encoder, a decoder with attention, teacher forcing."""

from __future__ import unicode_literals, print_function, division

import random
import re
import unicodedata

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SOS_token, EOS_token, MAX_LENGTH = 0, 1, 6
PAIRS = [("i am cold.", "j ai froid."), ("he is old!", "il est vieux!"), ("you are", "tu es")]


class Lang:
    def __init__(self, name):
        self.name = name
        self.word2index = {}
        self.word2count = {}
        self.index2word = {0: "SOS", 1: "EOS"}
        self.n_words = 2

    def addSentence(self, sentence):
        for word in sentence.split(" "):
            self.addWord(word)

    def addWord(self, word):
        if word not in self.word2index:
            self.word2index[word] = self.n_words
            self.word2count[word] = 1
            self.index2word[self.n_words] = word
            self.n_words += 1
        else:
            self.word2count[word] += 1


def unicodeToAscii(s):
    return "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn")


def normalizeString(s):
    s = unicodeToAscii(s.lower().strip())
    s = re.sub(r"([.!?])", r" \1", s)
    return re.sub(r"[^a-zA-Z!?]+", r" ", s).strip()


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.0):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1, bias=False)  # the same for all keys: softmax undoes it

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys)
        return context, weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.0):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device)
        decoder_input = decoder_input.fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs = []
        attentions = []
        for i in range(MAX_LENGTH):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs
            )
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        decoder_outputs = F.log_softmax(decoder_outputs, dim=-1)
        attentions = torch.cat(attentions, dim=1)
        return decoder_outputs, decoder_hidden, attentions

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs)
        input_gru = torch.cat((embedded, context), dim=2)
        output, hidden = self.gru(input_gru, hidden)
        output = self.out(output)
        return output, hidden, attn_weights


class PackedTranslator(nn.Module):
    """A bidirectional LSTM over packed sentences, Luong attention with a mask, an LSTM cell."""

    def __init__(self, n_src, n_tgt, hidden):
        super().__init__()
        self.embed = nn.Embedding(n_src, hidden, padding_idx=0)
        self.encoder = nn.LSTM(hidden, hidden, num_layers=2, bidirectional=True)
        self.h_projection = nn.Linear(2 * hidden, hidden, bias=False)
        self.c_projection = nn.Linear(2 * hidden, hidden, bias=False)
        self.att_projection = nn.Linear(2 * hidden, hidden, bias=False)
        self.target = nn.Embedding(n_tgt, hidden, padding_idx=0)
        self.decoder = nn.LSTMCell(2 * hidden, hidden)
        self.combined = nn.Linear(3 * hidden, hidden, bias=False)
        self.vocab = nn.Linear(hidden, n_tgt, bias=False)

    def forward(self, source, lengths, target):
        X = pack_padded_sequence(self.embed(source), lengths, enforce_sorted=False)
        enc, (h, c) = self.encoder(X)
        enc, lens = pad_packed_sequence(enc)
        enc = enc.permute(1, 0, 2)
        mask = torch.zeros(enc.size(0), enc.size(1), dtype=torch.float)
        for e_id, src_len in enumerate(lengths):
            mask[e_id, src_len:] = 1
        state = (
            self.h_projection(torch.cat((h[-2], h[-1]), 1)),
            self.c_projection(torch.cat((c[-2], c[-1]), 1)),
        )
        projected = self.att_projection(enc)
        o_prev = torch.zeros(enc.size(0), state[0].size(1), device=enc.device)
        outputs = []
        for Y_t in torch.split(self.target(target[:-1]), 1):
            state = self.decoder(torch.cat((Y_t.squeeze(0), o_prev), dim=1), state)
            e_t = torch.bmm(projected, state[0].unsqueeze(2)).squeeze(2)
            e_t.data.masked_fill_(mask.bool(), -float("inf"))
            alpha = F.softmax(e_t, dim=1)
            a_t = torch.bmm(alpha.unsqueeze(1), enc).squeeze(1)
            o_prev = torch.tanh(self.combined(torch.cat((a_t, state[0]), dim=1)))
            outputs.append(o_prev)
        P = F.log_softmax(self.vocab(torch.stack(outputs)), dim=-1)
        target_masks = (target != 0).float()
        gold = torch.gather(P, index=target[1:].unsqueeze(-1), dim=-1).squeeze(-1)
        return (gold * target_masks[1:]).sum(dim=0)


def languages():
    input_lang, output_lang = Lang("eng"), Lang("fra")
    pairs = [[normalizeString(s) for s in p] for p in PAIRS]
    for pair in pairs:
        input_lang.addSentence(pair[0])
        output_lang.addSentence(pair[1])
    return input_lang, output_lang, pairs


def make():
    input_lang, output_lang, _ = languages()
    return {
        "encoder": EncoderRNN(input_lang.n_words, 8).to(device),
        "decoder": AttnDecoderRNN(8, output_lang.n_words).to(device),
        "packed": PackedTranslator(9, 7, 4),
    }


def indexesFromSentence(lang, sentence):
    return [lang.word2index[word] for word in sentence.split(" ")]


def train(models, folder):
    encoder, decoder = models["encoder"], models["decoder"]
    input_lang, output_lang, pairs = languages()
    n = len(pairs)
    input_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
    target_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
    for idx, (inp, tgt) in enumerate(pairs):
        inp_ids = indexesFromSentence(input_lang, inp)
        tgt_ids = indexesFromSentence(output_lang, tgt)
        inp_ids.append(EOS_token)
        tgt_ids.append(EOS_token)
        input_ids[idx, : len(inp_ids)] = inp_ids
        target_ids[idx, : len(tgt_ids)] = tgt_ids
    train_data = TensorDataset(
        torch.LongTensor(input_ids).to(device), torch.LongTensor(target_ids).to(device)
    )
    loader = DataLoader(train_data, sampler=SequentialSampler(train_data), batch_size=2)
    encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.01)
    decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.01)
    criterion = nn.NLLLoss()
    losses = []
    for epoch in range(1, 4):
        total_loss = 0
        for data in loader:
            input_tensor, target_tensor = data
            encoder_optimizer.zero_grad()
            decoder_optimizer.zero_grad()
            encoder_outputs, encoder_hidden = encoder(input_tensor)
            decoder_outputs, _, _ = decoder(encoder_outputs, encoder_hidden, target_tensor)
            loss = criterion(
                decoder_outputs.view(-1, decoder_outputs.size(-1)), target_tensor.view(-1)
            )
            loss.backward()
            encoder_optimizer.step()
            decoder_optimizer.step()
            total_loss += loss.item()
        losses.append(total_loss / len(loader))
    with torch.no_grad():
        encoder.eval()
        sentence = torch.tensor(
            indexesFromSentence(input_lang, pairs[0][0]) + [EOS_token], dtype=torch.long
        ).view(1, -1)
        decoder_outputs, _, attentions = decoder(*encoder(sentence))
        _, topi = decoder_outputs.topk(1)
        words = []
        for idx in topi.squeeze():
            if idx.item() == EOS_token:
                words.append("<EOS>")
                break
            words.append(output_lang.index2word[idx.item()])
    return [losses, words, attentions[0, : len(words), :], train_packed(models["packed"])]


def train_packed(model):
    for p in model.parameters():
        p.data.mul_(2.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    sentences = [torch.tensor(s) for s in ([3, 4], [5, 6, 7, 8], [1, 2, 3])]
    source = pad_sequence(sentences, padding_value=0)
    target = pad_sequence([torch.tensor(s) for s in ([1, 2, 3], [1, 4, 5, 6], [1, 2])])
    lengths = [len(s) for s in sentences]
    report = []
    for epoch in range(3):
        optimizer.zero_grad()
        example_losses = -model(source, lengths, target)
        batch_loss = example_losses.sum()
        loss = batch_loss / len(sentences)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        report.append([batch_loss.item(), grad_norm.item(), np.exp(loss.item())])
    return [[a, b, float(c)] for a, b, c in report]
