"""The registry of methods by name, and what can be said of any fitted one.

Comparison, models and report share it; none of them is known here.
"""
