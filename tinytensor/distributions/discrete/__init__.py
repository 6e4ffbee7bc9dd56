"""Distributions of integers and classes."""
