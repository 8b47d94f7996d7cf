"""Methods by name, the steps of their pipelines, and fitted pipelines as matrices.

The comparison, the models and the report use this package; it imports none of them.
"""
