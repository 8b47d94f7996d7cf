"""Losses of your own: the protocol, and how the engine runs them."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray


@runtime_checkable
class PairLoss(Protocol):
    """A function of each point's squared distances to all others, to be maximized.

    Pass an instance as ``NCA(objective=...)``. `weigh` gets one block of rows at a
    time, so that no n×n array is needed, and may run on several threads at once.

    See Also
    --------
    vicinal.NCA : Takes a loss as `objective`.
    vicinal.testing.check_loss : Checks values, gradients and thread independence.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import NCA
    >>> class StudentT:  # log p_i with p_ij ∝ 1 / (1 + d²_ij)
    ...     def prepare(self, y, sample_weight):
    ...         return y, sample_weight
    ...     def weigh(self, distances, rows, data):
    ...         y, weight = data
    ...         q = weight / (1 + distances)
    ...         q[np.arange(len(rows)), rows] -= 1  # not its own neighbor
    ...         same = y[rows][:, None] == y
    ...         total = q.sum(axis=1, keepdims=True)
    ...         matched = (q * same).sum(axis=1, keepdims=True)
    ...         distances[:] = q / (1 + distances) * (1 / total - same / matched)
    ...         return np.log(matched / total)[:, 0]
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    >>> X[:, 0] += 3 * y
    >>> nca = NCA(1, objective=StudentT(), random_state=0).fit(X, y)
    >>> int(np.abs(nca.components_[0]).argmax())
    0
    """

    def prepare(self, y: NDArray[Any], sample_weight: FloatArray) -> Any:
        """Return what `weigh` needs to know of the rows.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Class codes from 0, or standardized targets.
        sample_weight : ndarray of shape (n_samples,)
            Weights of the rows, all positive.
        """

    def weigh(self, distances: FloatArray, rows: IntArray, data: Any) -> FloatArray:
        """Return one value for each row; overwrite distances by derivatives.

        Parameters
        ----------
        distances : ndarray of shape (n_rows, n_samples)
            Squared distances; the entry of a row to itself is 0. Overwrite entry
            (i, j) by the derivative of row i's value with respect to it.
        rows : ndarray of shape (n_rows,)
            Positions of the rows among the samples.
        data : object
            The result of `prepare`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """


@dataclass(frozen=True)
class CustomRule:
    """A `PairLoss` as the engine runs it; a row's term counts by its weight."""

    loss: PairLoss
    data: Any
    weight: FloatArray
    query_args: tuple[Any, ...] = ()
    reference_args: tuple[Any, ...] = ()

    def kernel(self, distances: FloatArray, rows: IntArray) -> FloatArray:
        """Return the values of some rows; turn distances into weights of edges."""
        values = self.loss.weigh(distances, rows, self.data)
        distances *= self.weight[rows, None]
        distances[range(len(rows)), rows] = 0
        return values
