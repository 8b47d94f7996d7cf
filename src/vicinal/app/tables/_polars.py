"""The import of polars. Models of arrays work without it; tables say how to get it."""

from typing import Any

from vicinal.app.tables.names import TableError

__all__ = ["pl"]


class _Missing:
    def __getattr__(self, name: str) -> Any:
        raise TableError("Reading tables needs an extra: pip install 'vicinal[cli]'.")


try:
    import polars as pl
except ImportError:
    pl = _Missing()  # type: ignore[assignment]
