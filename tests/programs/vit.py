"""A vision transformer, with patches by convolution and by rearranging, and stochastic depth."""

import math
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.init import trunc_normal_


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
    random_tensor.floor_()
    return x.div(keep_prob) * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob=None):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)


class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU):
        super().__init__()
        out_features = out_features or in_features
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.fc2 = nn.Linear(hidden_features, out_features)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Attention(nn.Module):
    def __init__(self, dim, num_heads=2, qkv_bias=False, qk_scale=None):
        super().__init__()
        self.num_heads = num_heads
        self.scale = qk_scale or (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads)
        qkv = qkv.permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x), attn


class Block(nn.Module):
    def __init__(self, dim, num_heads, drop_path, norm_layer, init_values=None):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads, qkv_bias=True)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, 2 * dim)
        self.gamma = nn.Parameter(init_values * torch.ones(dim)) if init_values else None

    def forward(self, x, return_attention=False):
        y, attn = self.attn(self.norm1(x))
        if return_attention:
            return attn
        if self.gamma is not None:
            y = self.gamma * y
        x = x + self.drop_path(y)
        return x + self.drop_path(self.mlp(self.norm2(x)))


class PatchEmbed(nn.Module):
    def __init__(self, img_size=8, patch_size=4, in_chans=3, embed_dim=12):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    def __init__(self, embed_dim=12, depth=3, num_heads=2, num_classes=4, drop_path_rate=0.2):
        super().__init__()
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.patch_embed = PatchEmbed(embed_dim=embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        num_patches = self.patch_embed.num_patches
        self.pos_embed = nn.Parameter(torch.zeros(1, num_patches + 1, embed_dim))
        dpr = [x.item() for x in torch.linspace(0, drop_path_rate, depth)]
        self.blocks = nn.ModuleList(
            [Block(embed_dim, num_heads, dpr[i], norm_layer, 0.1 * i) for i in range(depth)]
        )
        self.norm = norm_layer(embed_dim)
        self.head = nn.Linear(embed_dim, num_classes) if num_classes > 0 else nn.Identity()
        trunc_normal_(self.pos_embed, std=0.02)
        trunc_normal_(self.cls_token, std=0.02)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            trunc_normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.constant_(m.bias, 0)
        elif isinstance(m, nn.LayerNorm):
            nn.init.constant_(m.bias, 0)
            nn.init.constant_(m.weight, 1.0)

    def interpolate_pos_encoding(self, x, w, h):
        npatch = x.shape[1] - 1
        N = self.pos_embed.shape[1] - 1
        if npatch == N and w == h:
            return self.pos_embed
        class_pos_embed, patch_pos_embed = self.pos_embed[:, 0], self.pos_embed[:, 1:]
        dim = x.shape[-1]
        side = int(math.sqrt(N))
        patch_pos_embed = F.interpolate(
            patch_pos_embed.reshape(1, side, side, dim).permute(0, 3, 1, 2),
            size=(h // 4, w // 4),
            mode="bilinear",
            align_corners=False,
        )
        patch_pos_embed = patch_pos_embed.permute(0, 2, 3, 1).view(1, -1, dim)
        return torch.cat((class_pos_embed.unsqueeze(0), patch_pos_embed), dim=1)

    def forward(self, x):
        B, nc, h, w = x.shape
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(B, -1, -1), x), dim=1)
        x = x + self.interpolate_pos_encoding(x, w, h)
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x)[:, 0])


class SimpleViT(nn.Module):
    """Patches cut out by reshape, the encoder of the library, mean over patches."""

    def __init__(self, dim=12, p=4):
        super().__init__()
        self.p = p
        self.to_patch = nn.Sequential(
            nn.LayerNorm(3 * p * p), nn.Linear(3 * p * p, dim), nn.LayerNorm(dim)
        )
        self.pos = nn.Embedding(4, dim)
        layer = nn.TransformerEncoderLayer(
            dim, 2, 24, 0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, 2, nn.LayerNorm(dim), enable_nested_tensor=False
        )
        self.pool_attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.query = nn.Parameter(torch.randn(1, 1, dim))
        self.head = nn.Linear(dim, 4)
        self.register_buffer("positions", torch.arange(4), persistent=False)

    def forward(self, img):
        b, c, h, w = img.shape
        p = self.p
        x = img.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1)
        x = x.reshape(b, (h // p) * (w // p), p * p * c)
        x = self.encoder(self.to_patch(x) + self.pos(self.positions))
        pooled, weights = self.pool_attention(self.query.expand(b, -1, -1), x, x)
        return self.head(pooled.squeeze(1)), weights


def cosine_scheduler(base, final, epochs, warmup):
    schedule = [base * i / warmup for i in range(warmup)]
    for i in range(epochs - warmup):
        schedule.append(final + 0.5 * (base - final) * (1 + math.cos(math.pi * i / epochs)))
    return schedule


def make():
    return {"vit": VisionTransformer(), "simple": SimpleViT()}


def train(models, folder):
    vit, simple = models["vit"], models["simple"]
    images, labels = torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))
    regularized, not_regularized = [], []
    for name, param in vit.named_parameters():
        if not param.requires_grad:
            continue
        if name.endswith(".bias") or len(param.shape) == 1:
            not_regularized.append(param)
        else:
            regularized.append(param)
    groups = [{"params": regularized}, {"params": not_regularized, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups)
    schedule, losses = cosine_scheduler(5e-3, 1e-5, 5, 2), []
    vit.train()
    for it in range(5):
        for i, param_group in enumerate(optimizer.param_groups):
            param_group["lr"] = schedule[it]
            if i == 0:
                param_group["weight_decay"] = 0.04
        loss = F.cross_entropy(vit(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    vit.eval()
    with torch.no_grad():
        larger = vit(torch.randn(2, 3, 12, 12))
    optimizer = torch.optim.Adam(simple.parameters(), lr=1e-3)
    for _ in range(3):
        logits, weights = simple(images)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    attention = vit.blocks[0](torch.randn(1, 5, 12), return_attention=True)
    return [losses, larger, weights, attention.sum(-1), repr(vit.blocks[1].drop_path)]
