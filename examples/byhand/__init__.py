"""Sheets that are worked by hand, worked by tinytensor: every figure is compared.

All of them: `python -m examples.byhand`. Those of one module: `python -m examples.byhand.rnn`.
"""
