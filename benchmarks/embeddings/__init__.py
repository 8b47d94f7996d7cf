"""Benchmarks of embeddings: bridges between models."""
