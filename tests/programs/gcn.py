"""Graph networks: convolution with an adjacency matrix, attention over neighbours, messages."""

import math
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


def normalize(mx):
    """Row-normalize matrix"""
    rowsum = np.array(mx.sum(1))
    r_inv = np.power(rowsum, -1).flatten()
    r_inv[np.isinf(r_inv)] = 0.0
    r_mat_inv = np.diag(r_inv)
    return r_mat_inv.dot(mx)


def encode_onehot(labels):
    classes = sorted(set(labels))
    classes_dict = {c: np.identity(len(classes))[i, :] for i, c in enumerate(classes)}
    return np.array(list(map(classes_dict.get, labels)), dtype=np.int32)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    correct = correct.sum()
    return correct / len(labels)


def load_data():
    idx_map = {j: i for i, j in enumerate(range(8))}
    edges = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 6], [6, 7], [0, 7]])
    edges = np.array(list(map(idx_map.get, edges.flatten())), dtype=np.int32).reshape(edges.shape)
    adj = np.zeros((8, 8), dtype=np.float32)
    adj[edges[:, 0], edges[:, 1]] = 1
    adj = adj + adj.T * (adj.T > adj) - adj * (adj.T > adj)
    features = np.array(np.arange(40).reshape(8, 5) % 7, dtype=np.float32)
    features = normalize(features)
    adj = normalize(adj + np.eye(adj.shape[0]))
    labels = encode_onehot(list("aabbccab"))
    features = torch.FloatTensor(np.array(features))
    labels = torch.LongTensor(np.where(labels)[1])
    adj = torch.FloatTensor(np.array(adj))
    idx_train = torch.LongTensor(range(5))
    idx_val = torch.LongTensor(range(5, 8))
    return adj, features, labels, idx_train, idx_val


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.mm(adj, support)
        if self.bias is not None:
            return output + self.bias
        else:
            return output

    def __repr__(self):
        return (
            self.__class__.__name__
            + " ("
            + str(self.in_features)
            + " -> "
            + str(self.out_features)
            + ")"
        )


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass, bias=False)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha, concat=True):
        super(GraphAttentionLayer, self).__init__()
        self.out_features = out_features
        self.concat = concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[: self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features :, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, nheads):
        super(GAT, self).__init__()
        self.attentions = [GraphAttentionLayer(nfeat, nhid, 0.2) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module("attention_{}".format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, 0.2, concat=False)

    def forward(self, x, adj):
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        x = F.elu(self.out_att(x, adj))
        return F.log_softmax(x, dim=1)


class MessagePassing(nn.Module):
    """Mean over neighbours by edge list, then a GRU cell (gated graph network), and a read-out."""

    def __init__(self, width):
        super().__init__()
        self.message = nn.Linear(2 * width, width)
        self.update = nn.GRUCell(width, width)
        self.norm = nn.LayerNorm(width)
        self.readout = nn.Linear(width, 3)

    def forward(self, h, edge_index, batch):
        row, col = edge_index
        deg = torch.bincount(col, minlength=h.size(0)).clamp(min=1).to(h.dtype)
        for _ in range(2):
            m = torch.relu(self.message(torch.cat([h[row], h[col]], dim=-1)))
            out = torch.zeros_like(h).index_add_(0, col, m)
            h = self.update(out / deg.view(-1, 1), h)
        h = self.norm(h)
        size = int(batch.max()) + 1
        pooled = h.new_zeros(size, h.size(1)).scatter_add_(0, batch.unsqueeze(-1).expand_as(h), h)
        best = h.new_full((size, h.size(1)), float("-inf")).scatter_reduce(
            0, batch.unsqueeze(-1).expand_as(h), h, reduce="amax"
        )
        return self.readout(pooled + best)


def make():
    return {
        "gcn": GCN(nfeat=5, nhid=8, nclass=3, dropout=0.0),
        "gat": GAT(nfeat=5, nhid=4, nclass=3, nheads=2),
        "messages": MessagePassing(5),
    }


def train(models, folder):
    adj, features, labels, idx_train, idx_val = load_data()
    results = []
    for name in ("gcn", "gat"):
        model = models[name]
        optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        for epoch in range(4):
            t = time.time()
            model.train()
            optimizer.zero_grad()
            output = model(features, adj)
            loss_train = F.nll_loss(output[idx_train], labels[idx_train])
            acc_train = accuracy(output[idx_train], labels[idx_train])
            loss_train.backward()
            optimizer.step()
            model.eval()
            loss_val = F.nll_loss(output[idx_val], labels[idx_val])
            text = "Epoch: {:04d} acc_train: {:.4f} time: {:.4f}s".format(
                epoch + 1, acc_train.item(), time.time() - t
            )
            results.append([loss_train.data.item(), loss_val, acc_train, text[:11]])
        results.append(repr(model))
    model = models["messages"]
    edge_index = adj.nonzero(as_tuple=False).t().contiguous()
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])
    optimizer = optim.Adagrad(model.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        logits = model(features, edge_index, batch)
        loss = F.cross_entropy(logits, torch.tensor([0, 2, 1]), label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    return results + [logits.argmax(dim=-1).tolist()]
