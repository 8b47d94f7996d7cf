"""The import of polars, with advice if it is missing."""

from vicinal.app.tables.names import TableError

__all__ = ["pl"]

try:
    import polars as pl
except ImportError as error:
    raise TableError(
        "Reading tables needs an extra: pip install 'vicinal[cli]'."
    ) from error
