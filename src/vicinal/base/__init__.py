"""Base classes and shared utilities of the estimators.

`metric` has the base class of all estimators that learn a linear map. The other modules
have linear algebra, two-domain data and model selection.
"""
