"""Three heads of width 3 on tokens of width 5, joined by W_O."""

from __future__ import annotations

import nn
import nn.functional as F
import tinytensor as tt

from .notation import Columns, linear, matrix
from .sheet import Sheet, main, worksheet

# Wq, Wk and Wv of each head.
HEADS = [
    ("1 -1 1 0 0; 0 0 -1 0 0; 1 -1 1 0 1",
     "1 0 0 0 0; 0 1 0 1 1; 0 0 0 1 0",
     "0 1 0 0 0; 1 0 0 0 0; 0 0 0 1 -1"),
    ("1 -1 0 1 1; 0 1 -1 1 -1; 1 1 0 0 0",
     "1 0 1 -1 1; 1 0 0 1 0; 1 1 0 1 1",
     "1 0 -1 0 -1; 0 1 0 0 0; 0 1 1 0 0"),
    ("0 -1 0 0 0; 0 1 1 1 0; -1 0 -1 0 1",
     "0 1 -1 0 0; 1 -1 -1 1 -1; -1 0 1 1 1",
     "-1 1 1 0 1; 0 1 0 1 1; 0 0 1 0 0"),
]  # fmt: skip
JOIN = """
    0 0 1 0 0 1 -1 -1 -1; 1 1 1 0 1 1 1 1 1; 1 0 -1 1 0 0 1 0 0; 1 0 0 0 0 -1 1 0 0;
    -1 1 1 1 0 0 -1 1 0
"""


def as_module(join: tt.Tensor) -> nn.MultiheadAttention:
    """The same heads in nn: it wants tokens as wide as its heads together, 9, so zeros fill up."""
    by_kind = [tt.cat([matrix(head[kind]) for head in HEADS]) for kind in range(3)]  # 3 × (9, 5)
    attention = nn.MultiheadAttention(9, 3, bias=False, dtype=tt.float64)
    attention.load_state_dict(
        {
            "in_proj_weight": F.pad(tt.cat(by_kind), (0, 4)),  # (27, 5) → (27, 9)
            "out_proj.weight": F.pad(join, (0, 0, 0, 4)),  # (5, 9) → (9, 9)
        }
    )
    return attention


@worksheet("X-MultiHead-3", "Multi-head attention: three heads, joined by W_O")
def multi_head(sheet: Sheet) -> None:
    figure = "3 3 0 3 0 2; 2 0 3 2 3 1; 1 0 1 1 1 3; 3 1 2 3 1 1; 2 3 2 2 1 2"
    X = sheet.given("X", matrix(figure))
    join = linear(JOIN, bias=False)
    outputs = []
    for number, head in enumerate(HEADS, start=1):
        wq, wk, wv = (linear(text, bias=False) for text in head)
        for name, part in {"Wq": wq, "Wk": wk, "Wv": wv}.items():
            sheet.given(f"{name} of head {number}", part.weight)
        tokens = X.mT  # (6, 5)
        outputs.append(F.scaled_dot_product_attention(wq(tokens), wk(tokens), wv(tokens)))
    sheet.given("W_O", join.weight)
    concat = sheet.check(
        "heads, one above the other",
        tt.cat(outputs, dim=1).mT,
        "1.93983 1.99902 2.65498 1.93983 2.62754 1.83078; "
        "2.98564 2.99965 0.370194 2.98564 0.381240 2.99191; "
        "0.900596 0.998269 -0.171417 0.900596 -0.199332 0.742103; "
        "-0.0145967 -2.90797 -0.000285728 -0.0145967 -0.000269811 -2.70179; "
        "1.97780 0.969995 1.99818 1.97780 1.99991 0.921209; "
        "2.97886 3.87830 2.99748 2.97886 2.99983 3.63236; "
        "0.117829 1.56053 1.05807 0.117829 0.523516 0.0679021; "
        "4.17674 5.93813 5.58662 4.17674 4.78391 4.10185; "
        "0.0589149 0.750420 0.529119 0.0589149 0.261986 0.0339512",
    )
    out = sheet.check(
        "W_O·heads",
        Columns(join)(concat),
        "-0.474026 -3.37252 -4.34775 -0.474026 -2.76891 0.170759; "
        "15.1362 19.0943 15.0232 15.1362 13.3786 14.3221; "
        "1.14247 -0.346682 3.88418 1.14247 3.35012 -1.54520; "
        "-0.921205 -0.318745 0.715572 -0.921205 0.151229 -1.73367; "
        "5.99072 3.46852 2.07206 5.99072 1.81449 3.23539",
    )
    attention = as_module(join.weight.detach())
    padded = F.pad(X.mT, (0, 4))  # (6, 5) → (6, 9)
    same, _ = attention(padded, padded, padded)
    agree = tt.allclose(same[:, :5].mT, out, rtol=1e-12, atol=1e-12)
    sheet.holds("MultiheadAttention gives the same", agree)
    sheet.gradcheck("out", lambda x: attention(x, x, x)[0], padded)


if __name__ == "__main__":
    main()
