"""How good the decisions of `vicinal compare` are."""
