"""Image models written with einops: a transformer on patches, mixing, attention on windows."""

import torch
import torch.nn.functional as F
from einops import pack, rearrange, reduce, repeat, unpack
from torch import einsum, nn


def pair(t):
    return t if isinstance(t, tuple) else (t, t)


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden_dim), nn.GELU(),
                                 nn.Linear(hidden_dim, dim))  # fmt: skip

    def forward(self, x):
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        inner_dim = dim_head * heads
        self.heads, self.scale = heads, dim_head**-0.5
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Linear(inner_dim, dim)

    def forward(self, x):
        x = self.norm(x)
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), qkv)
        dots = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        attn = dots.softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, mlp_dim, channels=3):
        super().__init__()
        self.patch = patch_size
        num_patches = (image_size // patch_size) ** 2
        self.to_patch_embedding = nn.Linear(channels * patch_size**2, dim)
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(dim))
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([Attention(dim), FeedForward(dim, mlp_dim)]))
        self.mlp_head = nn.Linear(dim, num_classes)

    def forward(self, img):
        p = self.patch
        x = rearrange(img, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=p, p2=p)
        x = self.to_patch_embedding(x)
        cls_tokens = repeat(self.cls_token, "d -> b d", b=len(img))
        x, ps = pack([cls_tokens, x], "b * d")
        x = x + self.pos_embedding[:, : x.shape[1]]
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        cls_tokens, patches = unpack(x, ps, "b * d")
        return self.mlp_head(cls_tokens + reduce(patches, "b n d -> b d", "mean"))


class WindowMixer(nn.Module):
    def __init__(self, dim, window):
        super().__init__()
        self.window = window
        self.mix = nn.Linear(window**2, window**2)

    def forward(self, x):
        w = self.window
        y = rearrange(x, "b d (x w1) (y w2) -> b x y d (w1 w2)", w1=w, w2=w)
        y = F.gelu(self.mix(y))
        y = rearrange(y, "b x y d (w1 w2) -> b d (x w1) (y w2)", w1=w, w2=w)
        return reduce(x + y, "b d (h h2) (w w2) -> b d h w", "max", h2=2, w2=2)


def make():
    vit = ViT(image_size=8, patch_size=4, num_classes=5, dim=12, depth=2, mlp_dim=16)
    return {"vit": vit, "mixer": WindowMixer(3, 4)}


def train(models, folder):
    results = []
    img, target = torch.randn(3, 3, 8, 8), torch.randint(0, 5, (3,))
    optimizer = torch.optim.Adam(models["vit"].parameters(), lr=1e-3)
    for _ in range(3):
        loss = F.cross_entropy(models["vit"](img), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    out = models["mixer"](img)
    out.sum().backward()
    channels = reduce(out, "b c h w -> c", "sum")
    return results + [out, channels, rearrange(out, "b c h w -> (b c) h w").shape == (9, 4, 4)]
