"""The application: tables, comparisons, reports, models in files, the command line."""

from importlib import import_module
from typing import Any

__all__ = ["cli", "comparison", "methods", "models", "report", "tables"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"vicinal.app.{name}")
    raise AttributeError(f"module 'vicinal.app' has no attribute {name!r}")
