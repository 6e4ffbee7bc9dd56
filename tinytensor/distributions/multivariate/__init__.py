"""Distributions of vectors with correlations, and of matrices."""
