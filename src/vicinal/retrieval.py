"""The nearest rows of a file under a model, from `vicinal.models`."""

from vicinal.models import Found, Neighborhoods, nearest_rows, neighbor_table

__all__ = ["Found", "Neighborhoods", "nearest_rows", "neighbor_table"]
