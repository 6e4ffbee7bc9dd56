"""New tensors.

from_data.py       tensor, as_tensor, from_numpy: from numbers, lists and arrays
filled.py          zeros, ones, full, eye and their *_like forms
ranges.py          arange, linspace, logspace
windows.py         hann_window and others, for stft
random.py          rand, randn, randint, and methods such as `normal_`
fill_random.py     less common distributions: `cauchy_`, `geometric_`, poisson, binomial
generator.py       Generator: a stream of random numbers, and each device's default one
questions.py       is_tensor, numel: questions about a tensor
memory_errors.py   the error when memory runs out
size_arguments.py  the size arguments that these functions share
"""

from . import fill_random, filled, from_data, questions, random, ranges, windows
from .fill_random import *
from .filled import *
from .from_data import *
from .questions import *
from .random import *
from .ranges import *
from .windows import *

__all__: list[str] = []
__all__ += fill_random.__all__
__all__ += filled.__all__
__all__ += from_data.__all__
__all__ += questions.__all__
__all__ += random.__all__
__all__ += ranges.__all__
__all__ += windows.__all__
