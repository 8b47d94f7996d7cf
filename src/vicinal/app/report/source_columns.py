"""Which column of the user's table each feature came from.

A column of text becomes a feature for each of its values; to a person it is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vicinal._typing import FloatArray, IntArray

__all__ = ["SourceColumns", "find_source_columns"]


@dataclass(frozen=True, eq=False)
class SourceColumns:
    """The columns behind the features.

    Attributes
    ----------
    names : list of str
        Of the columns, in the order of their first features.
    of_features : ndarray of int of shape (n_features,)
        Which of them each feature came from.
    values : list of str or None
        Of each feature: the value that it stands for, where a column of text has
        become several features.
    """

    names: list[str]
    of_features: IntArray
    values: list[str | None]

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sums of the features' values, one for each column.

        Parameters
        ----------
        values : ndarray of shape (n_features,)
            One number for each feature.
        """
        sums: FloatArray = np.zeros(len(self.names))
        np.add.at(sums, self.of_features, values)
        return sums

    def features(self, column: int) -> IntArray:
        """Return the features that came from a column."""
        return np.flatnonzero(self.of_features == column)


def find_source_columns(
    feature_names: Sequence[str],
    X: FloatArray,
    split: Iterable[str] | None = None,
    given: Sequence[str] | None = None,
) -> SourceColumns:
    """Tell which features belong together.

    Parameters
    ----------
    feature_names : sequence of str
        A category's is ``column=value``.
    X : ndarray of shape (n_samples, n_features)
        The features.
    split : iterable of str, optional
        The columns that have become features called ``column=value``, ``column
        missing`` or ``column[0]``, where that is known. Otherwise features called
        ``column=…`` belong together where each row has at most one of them.
    given : sequence of str, optional
        The column of each feature, where that is known.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.report.source_columns import find_source_columns
    >>> X = np.array([[22.0, 1, 0], [38, 0, 1]])
    >>> found = find_source_columns(["age", "port=C", "port=S"], X)
    >>> found.names, found.of_features.tolist(), found.values
    (['age', 'port'], [0, 1, 1], [None, 'C', 'S'])
    """
    if given is not None:
        owners = [str(name) for name in given]
    elif split is None:
        owners = _by_values(feature_names, X)
    else:
        # The longest first: a column's name may begin with another's.
        columns = sorted(map(str, split), key=len, reverse=True)
        owners = [
            next((one for one in columns if _belongs(name, one)), name)
            for name in feature_names
        ]
    names = list(dict.fromkeys(owners))
    index = {name: i for i, name in enumerate(names)}
    values = [
        feature[len(owner) + 1 :]
        if feature.startswith(f"{owner}=") or feature == f"{owner} missing"
        else None
        for feature, owner in zip(feature_names, owners, strict=True)
    ]
    return SourceColumns(names, np.array([index[one] for one in owners]), values)


def _belongs(feature: str, column: str) -> bool:
    return feature == f"{column} missing" or feature.startswith(
        (f"{column}=", f"{column}[")
    )


def _by_values(feature_names: Sequence[str], X: FloatArray) -> list[str]:
    groups: dict[str, list[int]] = {}
    for j, name in enumerate(feature_names):
        column, equals, _ = name.partition("=")
        if equals:
            groups.setdefault(column, []).append(j)
    owners = list(feature_names)
    for column, features in groups.items():
        part = X[:, features]
        is_one_hot = np.isin(part, (0, 1)).all() and (part.sum(axis=1) <= 1).all()
        if len(features) > 1 and is_one_hot and column not in feature_names:
            for j in features:
                owners[j] = column
    return owners
