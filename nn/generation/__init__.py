"""Text generation: from a model's next-token logits to whole sequences.

generate      generate() and stream(): greedy, sampling or beams
beam_search   beam_search(): the most probable continuations
sampling      temperature, top-k, top-p, repetition penalty; drawing by inverse CDF
next_logits   NextLogits: asks a model for the next token; checks of prompts, inference mode
kv_cache      KVCache: keys and values of earlier tokens
fast_decode   one token through a GPT block in one kernel

The public names are in `nn`: nn.generate, nn.stream, nn.beam_search, nn.KVCache.
"""
