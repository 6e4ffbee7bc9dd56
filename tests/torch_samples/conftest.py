"""PyTorch's databases import expecttest, a package of its developers, which need not be there."""

from .expecttest_base import provide_expecttest

provide_expecttest()
