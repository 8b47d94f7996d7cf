"""What a learned metric is, and what the families share.

`metric` is the base of every estimator that learns a linear map; the others check its
input, its dimension, two domains, and watch over a fit.
"""
