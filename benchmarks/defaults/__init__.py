"""Every estimator with its defaults beside not learning; prints where learning hurts."""
