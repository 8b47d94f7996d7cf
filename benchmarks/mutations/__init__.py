"""Mutation testing: which one-line changes of the source no test notices."""
