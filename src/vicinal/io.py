"""Models in files: `save` and `load`, from `vicinal.models`."""

from vicinal.models import load, save

__all__ = ["load", "save"]
