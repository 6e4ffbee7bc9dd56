"""Rows of blocks that PyTorch does not have: Mamba, mixtures of experts, parts of a diffusion
transformer, the recurrent translator. What they are compared with is in the test file of each."""

from .table import I, M, Row, T, V


def note(file: str) -> dict:
    return {"torch": None, "note": f"PyTorch has none; compared in tests/nn/models/{file}"}


MAMBA, EXPERTS = note("test_mamba.py"), note("test_experts.py")
DIFFUSION, TRANSLATOR = note("test_diffusion.py"), note("test_seq2seq_rnn.py")

X = T(2, 5, 4)
LINEAR = M("Linear", 4, 4)
MLP = M("Sequential", M("Linear", 4, 6), M("Tanh"), M("Linear", 6, 4))
SOURCE, TARGET = I(3, 5, low=1, high=7), I(3, 4, high=6)
PADDED = V([[3, 1, 4, 1, 5], [2, 6, 5, 0, 0], [3, 0, 0, 0, 0]])

ROWS = [
    Row("Mamba", 4, inputs=[X], **MAMBA),
    Row("Mamba", 4, d_state=3, d_conv=2, expand=3, dt_rank=2, inputs=[X], **MAMBA),
    Row("Mamba", 4, d_state=3, conv_bias=False, bias=True, dt_init="constant", inputs=[T(1, 1, 4)],
        **MAMBA),
    Row("Mamba", 4, d_state=3, use_fast_path=False, inputs=[X], **MAMBA),
    Row("MixtureOfExperts", 4, [LINEAR, MLP, LINEAR], inputs=[X], **EXPERTS),
    Row("MixtureOfExperts", 4, [LINEAR, MLP, LINEAR], top_k=2, inputs=[X], **EXPERTS),
    Row("MixtureOfExperts", 4, [M("Linear", 4, 2)] * 3, top_k=2, normalize=False, gate_bias=True,
        inputs=[T(4)], **EXPERTS),
    Row("MixtureOfExperts", 4, [LINEAR, MLP], normalize=True, inputs=[T(2, 2, 3, 4)], **EXPERTS),
    Row("SwitchLayer", 4, [LINEAR, MLP, LINEAR], inputs=[X], **EXPERTS),
    Row("SwitchLayer", 4, [LINEAR, MLP, LINEAR], capacity=2, inputs=[X], **EXPERTS),
    Row("SwitchLayer", 4, [LINEAR, MLP], capacity_factor=0.5, scale=False, gate_bias=True,
        inputs=[X], **EXPERTS),
    Row("SwitchLayer", 4, [LINEAR, MLP], capacity_factor=None, inputs=[X], **EXPERTS),
    Row("DiTBlock", 4, 2, inputs=[X, T(2, 4)], **DIFFUSION),
    Row("DiTBlock", 4, 1, mlp_ratio=1.5, inputs=[T(1, 3, 4), T(1, 4)], **DIFFUSION),
    Row("DiTFinalLayer", 4, 2, 3, inputs=[X, T(2, 4)], **DIFFUSION),
    Row("TimestepEmbedding", 4, 6, inputs=[T(3, low=0, high=50)], **DIFFUSION),
    Row("TimestepEmbedding", 4, 5, max_period=100.0, inputs=[I(3, high=50)], **DIFFUSION),
    Row("PatchEmbed", 2, 3, 4, inputs=[T(2, 3, 4, 6)], **DIFFUSION),
    Row("AdaptiveLayerNorm", 4, 3, inputs=[X, T(2, 3)], **DIFFUSION),
    Row("AdaptiveLayerNorm", 4, 3, normalize=False, plus_one=False, inputs=[X, T(2, 3)],
        **DIFFUSION),
    Row("Seq2SeqRNN", 7, 6, 3, 4, inputs=[SOURCE, TARGET], call={"need_weights": True},
        **TRANSLATOR),
    Row("Seq2SeqRNN", 7, 6, 3, 4, rnn="lstm", inputs=[SOURCE, TARGET],
        call={"lengths": V([5, 2, 3])}, **TRANSLATOR),
    Row("Seq2SeqRNN", 7, 6, 3, 4, pad=0, inputs=[PADDED, TARGET], **TRANSLATOR),
    Row("Seq2SeqRNN", 7, 6, 3, 4, attention=False, inputs=[SOURCE, TARGET], **TRANSLATOR),
    Row("Seq2SeqRNN", 7, 6, 3, 4, dropout=0.5, train=(False,), inputs=[SOURCE, TARGET],
        **TRANSLATOR),
]  # fmt: skip
