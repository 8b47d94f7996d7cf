"""The neural map alone, for what comes behind it."""

from typing import ClassVar

from vicinal.neural._base import NeuralEstimator
from vicinal.neural._classifier import ClassTargets


class NeuralNCA(ClassTargets, NeuralEstimator):
    """Neighbourhood components analysis with a neural map.

    Learns a network under whose points rows of the same class are soft neighbours, as
    :class:`vicinal.NCA` learns a linear map; `transform` gives the points, for k-NN,
    clustering, retrieval or a picture.

    Parameters
    ----------
    n_components, embedding, n_frequencies, embedding_size, frequency_scale, \
categorical_features, categories, scale, n_blocks, hidden_size, dropout, module, \
distance, batch_size, n_references, learning_rate, weight_decay, max_iter, \
early_stopping, validation_fraction, n_iter_no_change, n_estimators, linear_vote, \
calibrate, warm_start, device, callback, verbose, random_state, n_jobs
        As for :class:`NeuralNCAClassifier`, but `n_estimators="auto"` is one. Points of
        several networks are put side by side, and nobody votes.

    Attributes
    ----------
    classes_, networks_, temperatures_, effective_neighbors_, n_iter_, \
objective_curve_, validation_scores_, n_features_in_, feature_names_in_
        As for :class:`NeuralNCAClassifier`.

    See Also
    --------
    vicinal.NCA : A linear map, without PyTorch.
    vicinal.neural.NeuralNCAClassifier : Predicts by the same neighbours.

    Notes
    -----
    Cost: as of :class:`vicinal.neural.NeuralNCAClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from vicinal.neural import NeuralNCA
    >>> X, y = load_iris(return_X_y=True)
    >>> near = make_pipeline(NeuralNCA(2, random_state=0), KNeighborsClassifier(3))
    >>> bool(near.fit(X, y).score(X, y) > 0.94)
    True
    """

    _objective: ClassVar[str] = "log"
    # What comes behind it asked for n_components columns, not for four times as many.
    _most_networks: ClassVar[int] = 1
