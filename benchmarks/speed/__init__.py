"""Speed against peers, as ratios in one run: ``python -m benchmarks.speed NAME``."""
