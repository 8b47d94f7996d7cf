"""Adapters on real collections: scores of queries that took no part in learning."""
