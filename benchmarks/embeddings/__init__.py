"""Benchmarks of embeddings: bridges, few labels, nested components, vector stores."""
