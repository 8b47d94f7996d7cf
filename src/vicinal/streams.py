"""A model at work on a file of any length: `transform_file`, from `vicinal.models`."""

from vicinal.models import transform_file

__all__ = ["transform_file"]
