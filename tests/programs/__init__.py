"""Programs as they are written for PyTorch. tests/test_pytorch_systems.py runs each of them twice.

A program has `make()`, which returns its model or a dict of models, and `train(models, folder)`,
which returns what is to be compared. Nothing in it knows of tinytensor: the test changes its import
lines, and nothing else. Random numbers come from functions that the test gives the same source
(torch.randn, rand, randint, randperm, multinomial, bernoulli and the _like of them).
"""
