"""A graph network on a sparse adjacency matrix, as its authors published it."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


def edges_of_ring(n):
    """Both directions of a ring with a chord, and a loop at each node."""
    pairs = [(i, (i + 1) % n) for i in range(n)] + [(0, n // 2)]
    pairs += [(b, a) for a, b in pairs] + [(i, i) for i in range(n)]
    return np.array(sorted(pairs), dtype=np.int64).T


def normalized(row, col, n):
    degree = np.bincount(row, minlength=n)
    return (1.0 / degree[row]).astype(np.float32)


def to_torch_sparse_tensor(n):
    row, col = edges_of_ring(n)
    indices = torch.from_numpy(np.vstack((row, col)).astype(np.int64))
    values = torch.from_numpy(normalized(row, col, n))
    return torch.sparse_coo_tensor(indices, values, torch.Size((n, n)))


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
        output = torch.spmm(adj, support)
        if self.bias is not None:
            return output + self.bias
        return output


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


class LightGCN(nn.Module):
    """Embeddings of users and items, spread over their graph, and ranked in pairs (BPR)."""

    def __init__(self, num_users, num_items, dim, n_layers):
        super().__init__()
        self.num_users, self.num_items, self.n_layers = num_users, num_items, n_layers
        self.embedding_user = nn.Embedding(num_users, dim)
        self.embedding_item = nn.Embedding(num_items, dim)
        nn.init.normal_(self.embedding_user.weight, std=0.1)
        nn.init.normal_(self.embedding_item.weight, std=0.1)

    def computer(self, graph):
        all_emb = torch.cat([self.embedding_user.weight, self.embedding_item.weight])
        embs = [all_emb]
        for _ in range(self.n_layers):
            all_emb = torch.sparse.mm(graph, all_emb)
            embs.append(all_emb)
        light_out = torch.mean(torch.stack(embs, dim=1), dim=1)
        return torch.split(light_out, [self.num_users, self.num_items])

    def bpr_loss(self, graph, users, pos, neg):
        all_users, all_items = self.computer(graph)
        users_emb, pos_emb, neg_emb = all_users[users], all_items[pos], all_items[neg]
        reg_loss = (1 / 2) * (users_emb.norm(2).pow(2) + pos_emb.norm(2).pow(2)
                              + neg_emb.norm(2).pow(2)) / float(len(users))  # fmt: skip
        pos_scores = torch.sum(torch.mul(users_emb, pos_emb), dim=1)
        neg_scores = torch.sum(torch.mul(users_emb, neg_emb), dim=1)
        return torch.mean(F.softplus(neg_scores - pos_scores)), reg_loss


def make():
    return {"gcn": GCN(5, 8, 3, 0.0), "light": LightGCN(4, 6, 5, 2)}


def train(models, folder):
    n = 10
    adj, features = to_torch_sparse_tensor(n), torch.rand(n, 5)
    labels = torch.randint(0, 3, (n,))
    results = [adj.is_sparse, tuple(adj.shape), adj.coalesce().values(), adj.to_dense().sum(1)]
    model = models["gcn"]
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(4):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss_train = F.nll_loss(output[:6], labels[:6])
        loss_train.backward()
        optimizer.step()
        results.append(loss_train.item())
    results.append(output)

    model, graph = models["light"], to_torch_sparse_tensor(10).coalesce()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    users, pos, neg = (torch.randint(0, 4, (8,)) for _ in range(3))
    for _ in range(3):
        loss, reg_loss = model.bpr_loss(graph, users, pos, neg)
        loss = loss + 1e-4 * reg_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.cpu().item())
    return results
