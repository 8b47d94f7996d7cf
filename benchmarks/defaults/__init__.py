"""Every estimator with its defaults beside not learning: where does it hurt?"""
