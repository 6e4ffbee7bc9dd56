"""Whole models and their special layers, built from the layers of `nn`.

gpt           GPT: a decoder-only transformer
bert          BERT: an encoder that fills in masked tokens
seq2seq       Seq2SeqTransformer: a translator
seq2seq_rnn   Seq2SeqRNN: a translator of recurrent layers, with or without attention
mamba         Mamba: a block with a selective state space
diffusion     DiTBlock and the other parts of a diffusion transformer; patches
experts       MixtureOfExperts, SwitchLayer
graph_conv    GraphConvolution

The public names are in `nn`: nn.GPT, nn.GPTConfig, nn.BERT …
"""
