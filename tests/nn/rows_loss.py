from typing import Any

from .table import I, Row, T, V

LOGITS = [T(4, 3), I(4, high=3)]
PROBABILITIES = V([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
CLASS_WEIGHT = V([0.5, 1.0, 2.0])
SIGN = V([1, -1, 1, -1])
REDUCTIONS = ["mean", "sum", "none"]


def clip_loss(package: Any) -> Any:
    """CLIPLoss in PyTorch's words."""
    import torch

    class Clip(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logit_scale = torch.nn.Parameter(torch.tensor(1.0))

        def forward(self, a: Any, b: Any) -> Any:
            a = a / a.norm(dim=1, keepdim=True)
            b = b / b.norm(dim=1, keepdim=True)
            logits = self.logit_scale.exp() * a @ b.t()
            pairs = torch.arange(len(a))
            loss = torch.nn.functional.cross_entropy
            return (loss(logits, pairs) + loss(logits.t(), pairs)) / 2

    return Clip()


def reward_loss(package: Any) -> Any:
    """PairwiseRewardLoss in PyTorch's words."""

    class Reward(package.Module):  # type: ignore[misc,name-defined]
        def forward(self, chosen: Any, rejected: Any) -> Any:
            return -package.functional.logsigmoid(chosen - rejected).mean()

    return Reward()


ROWS = [
    *(Row("CrossEntropyLoss", reduction=r, inputs=LOGITS) for r in REDUCTIONS),
    Row("CrossEntropyLoss", inputs=LOGITS),
    Row("LinearCrossEntropyLoss", 5, 3, bias=True, inputs=[T(4, 5), I(4, high=3)]),
    Row("CrossEntropyLoss", weight=CLASS_WEIGHT, inputs=LOGITS),
    Row("CrossEntropyLoss", ignore_index=1, inputs=[T(8, 3), I(8, high=3)]),
    Row("CrossEntropyLoss", label_smoothing=0.1, inputs=LOGITS),
    Row("CrossEntropyLoss", weight=CLASS_WEIGHT, label_smoothing=0.2, ignore_index=0,
        inputs=[T(8, 3), I(8, high=3)]),
    Row("CrossEntropyLoss", inputs=[T(2, 3), PROBABILITIES], label="probabilities"),
    Row("CrossEntropyLoss", inputs=[T(2, 3, 4), I(2, 4, high=3)]),
    Row("CrossEntropyLoss", inputs=[T(3), I(high=3)]),
    *(Row("NLLLoss", reduction=r, inputs=LOGITS) for r in REDUCTIONS),
    Row("NLLLoss", weight=CLASS_WEIGHT, ignore_index=2, inputs=[T(8, 3), I(8, high=3)]),
    Row("NLLLoss", inputs=[T(2, 3, 2, 2), I(2, 2, 2, high=3)]),
    *(Row("KLDivLoss", reduction=r, inputs=[T(2, 3), PROBABILITIES])
      for r in ("sum", "none", "batchmean")),
    Row("KLDivLoss", reduction="batchmean", log_target=True, inputs=[T(2, 3), T(2, 3)]),
    *(Row(name, reduction=r, inputs=[T(3, 4), T(3, 4)])
      for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss") for r in REDUCTIONS),
    Row("SmoothL1Loss", beta=0.3, inputs=[T(3, 4), T(3, 4)]),
    Row("HuberLoss", delta=0.5, inputs=[T(3, 4), T(3, 4)]),
    *(Row("BCELoss", reduction=r, inputs=[T(4, 2, low=0.1, high=0.9), T(4, 2, low=0, high=1)])
      for r in REDUCTIONS),
    Row("BCELoss", weight=V([0.5, 2.0]), inputs=[T(4, 2, low=0.1, high=0.9),
                                                 T(4, 2, low=0, high=1)]),
    *(Row("BCEWithLogitsLoss", reduction=r, inputs=[T(4, 2), T(4, 2, low=0, high=1)])
      for r in REDUCTIONS),
    Row("BCEWithLogitsLoss", pos_weight=V([0.5, 2.0]), inputs=[T(4, 2), T(4, 2, low=0, high=1)]),
    Row("BCEWithLogitsLoss", weight=V([0.5, 2.0]), pos_weight=V([3.0, 1.0]),
        inputs=[T(4, 2), T(4, 2, low=0, high=1)]),
    *(Row("CosineEmbeddingLoss", reduction=r, inputs=[T(4, 5), T(4, 5), SIGN])
      for r in REDUCTIONS),
    Row("CosineEmbeddingLoss", margin=-0.5, inputs=[T(4, 5), T(4, 5), SIGN]),
    *(Row("TripletMarginLoss", reduction=r, inputs=[T(4, 5), T(4, 5), T(4, 5)])
      for r in REDUCTIONS),
    Row("TripletMarginLoss", margin=5.0, p=1.0, swap=True, inputs=[T(4, 5), T(4, 5), T(4, 5)]),
    *(Row("MarginRankingLoss", reduction=r, inputs=[T(4), T(4), SIGN]) for r in REDUCTIONS),
    Row("MarginRankingLoss", margin=1.0, inputs=[T(4), T(4), SIGN]),
    *(Row("HingeEmbeddingLoss", reduction=r, inputs=[T(4), SIGN]) for r in REDUCTIONS),
    Row("HingeEmbeddingLoss", margin=3.0, inputs=[T(4), SIGN]),
    *(Row("TripletMarginWithDistanceLoss", reduction=r, inputs=[T(4, 5), T(4, 5), T(4, 5)])
      for r in REDUCTIONS),
    Row("TripletMarginWithDistanceLoss", margin=5.0, swap=True,
        inputs=[T(4, 5), T(4, 5), T(4, 5)]),
    *(Row("SoftMarginLoss", reduction=r, inputs=[T(4), SIGN]) for r in REDUCTIONS),
    *(Row("MultiMarginLoss", reduction=r, inputs=LOGITS) for r in REDUCTIONS),
    Row("MultiMarginLoss", p=2, margin=0.5, weight=CLASS_WEIGHT, inputs=LOGITS),
    *(Row("MultiLabelSoftMarginLoss", reduction=r, inputs=[T(4, 3), T(4, 3, low=0, high=1)])
      for r in REDUCTIONS),
    Row("MultiLabelSoftMarginLoss", weight=CLASS_WEIGHT,
        inputs=[T(4, 3), T(4, 3, low=0, high=1)]),
    Row("CosineSimilarity", inputs=[T(4, 5), T(4, 5)]),
    Row("CosineSimilarity", dim=-1, eps=1e-3, inputs=[T(2, 4, 5), T(2, 4, 5)]),
    Row("PairwiseDistance", inputs=[T(4, 5), T(4, 5)]),
    Row("PairwiseDistance", p=1.0, keepdim=True, inputs=[T(4, 5), T(4, 5)]),
    *(Row("PoissonNLLLoss", reduction=r, inputs=[T(4), T(4, low=0, high=5)]) for r in REDUCTIONS),
    Row("PoissonNLLLoss", log_input=False, full=True,
        inputs=[T(4, low=0.5), T(4, low=0, high=5, grad=False)]),
    *(Row("GaussianNLLLoss", reduction=r, inputs=[T(3, 2), T(3, 2), T(3, 2, low=0.5)])
      for r in REDUCTIONS),
    Row("GaussianNLLLoss", full=True, eps=0.9, inputs=[T(3, 2), T(3, 2), T(3, 1, low=0.5)]),
    Row("CLIPLoss", 0.5, inputs=[T(4, 5), T(4, 5)], torch=clip_loss),
    Row("CLIPLoss", 0.5, max_scale=1.5, inputs=[T(4, 5), T(4, 5)], torch=None,
        note="no counterpart"),
    Row("CLIPLoss", 0.1, learnable=False, inputs=[T(4, 5), T(4, 5)], torch=None,
        note="no counterpart"),
    Row("PairwiseRewardLoss", inputs=[T(5), T(5)], torch=reward_loss),
    Row("PairwiseRewardLoss", margin=0.5, reduction="none", inputs=[T(2, 3), T(2, 3)],
        torch=None, note="no counterpart"),
]  # fmt: skip
