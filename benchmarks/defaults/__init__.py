"""Every estimator with its defaults beside not learning, to see where it hurts."""
