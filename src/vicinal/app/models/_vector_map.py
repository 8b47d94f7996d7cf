"""A function of vectors as a map of tables, which hold the vectors in their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vicinal.app.tables.embeddings import read_embeddings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vicinal._typing import FloatArray

__all__ = ["VectorMap"]


@dataclass(frozen=True, eq=False)
class VectorMap:
    """What maps the vectors of a table's rows, like one side of an adapter.

    Attributes
    ----------
    function : callable
        From vectors, a row for each, to as many mapped ones.
    drop : sequence of str, default=()
        Columns that are no part of the vectors; those that are not there are none.

    See Also
    --------
    vicinal.app.models.neighbor_table : Takes one for each of its two tables.
    vicinal.app.models.transform_vectors : Maps a file.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.models import VectorMap
    >>> frame = pl.DataFrame({"id": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]]})
    >>> VectorMap(lambda vectors: 2 * vectors).transform(frame).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    function: Callable[[FloatArray], FloatArray]
    drop: Sequence[str] = ()
    target: None = None

    def transform(self, frame: Any) -> FloatArray:
        """Map the vectors of some rows.

        Parameters
        ----------
        frame : polars.DataFrame
            Its vectors are those of `vicinal.app.tables.embeddings.read_embeddings`.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            In the order of the rows.
        """
        return self.function(read_embeddings(frame, drop=self.drop).vectors)
