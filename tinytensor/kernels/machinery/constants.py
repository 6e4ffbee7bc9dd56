"""Constants that an op in `ops` and its kernel share."""

import math

# gelu: y = x·Φ(x), with Φ(x) = ½·(1 + erf(x·√½)) and the density exp(−x²/2) / √(2π)
SQRT_HALF = math.sqrt(0.5)
ONE_OVER_SQRT_2_PI = 1 / math.sqrt(2 * math.pi)

# gelu's approximation: Φ(x) ≈ ½·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
TANH_SCALE = math.sqrt(2 / math.pi)
TANH_CUBIC = TANH_SCALE * 0.044715

# erf in float32: x · E(x²) / F(x²) for |x| ≤ 3.93, highest power first; beyond, it rounds to ±1
ERF_E = (2.0419724206187525e-06, 0.0002848082729014177, 0.003779596640735776,
         0.052790247379631276, 0.19078354317630608, 1.1283791453711345)  # fmt: skip
ERF_F = (3.8004074543152125e-05, 0.0011652095682507678, 0.014997412346916853,
         0.11425740281463755, 0.5024102325676352, 1.0)  # fmt: skip
