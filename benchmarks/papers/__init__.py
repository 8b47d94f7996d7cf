"""The papers' tables, measured again: ``python -m benchmarks.papers NAME``."""
