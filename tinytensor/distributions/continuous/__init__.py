"""Distributions of numbers on a line."""
