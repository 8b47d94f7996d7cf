"""The nearest rows of a file under a model: `nearest_rows`, from `vicinal.models`."""

from vicinal.models import Found, Neighborhoods, nearest_rows

__all__ = ["Found", "Neighborhoods", "nearest_rows"]
