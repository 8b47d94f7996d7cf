"""The neural estimators: classifier, regressor and transformer."""

from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from vicinal._typing import FloatArray
from vicinal.nca import NCAClassifier, NCARegressor
from vicinal.neural._base import NeuralEstimator


class NeuralNCAClassifier(ClassifierMixin, NeuralEstimator):
    """Classifier by soft neighbors under a neural map.

    p(c | x) = Σ_{j ∈ c} p_j with p_j ∝ exp(−‖z − z_j‖ / T) over all training rows,
    where z is a network's output for the row x. The default network is linear on
    learned periodic features of each column. It is trained to maximize the logarithm
    of the probability of the correct class (eq. 6 of [1]_) among random rows.

    Parameters
    ----------
    n_components : int, default=64
        Dimension of the points.
    embedding : {"periodic", "none"}, default="periodic"
        Features of a numeric column: the number and mixtures of cosines with learned
        frequencies, or the number alone (for pixels, and for thousands of columns).
    n_frequencies : int, default=16
        Cosines of each column.
    embedding_size : int, default=4
        Features of each column.
    frequency_scale : float, default=0.3
        Standard deviation of the initial frequencies; a larger one separates close
        numbers more.
    categorical_features : "auto", array-like or None, default="auto"
        Categorical columns, by position, name or as booleans. "auto" selects the
        columns of a data frame that are not numeric; None selects none.
    categories : {"learned", "one-hot"}, default="learned"
        Encoding of categories. Missing and unknown categories become zeros.
    scale : {"column", "common", "none"}, default="column"
        "column" scales each column by its quartiles and clips outliers smoothly;
        "common" uses one unit for all columns, as for pixels; "none" does not scale.
        Missing numbers become the column's median, with a flag.
    n_blocks : int, default=0
        Residual blocks behind the linear map.
    hidden_size : int, default=256
        Hidden units of a block.
    dropout : float, default=0.1
        Dropout rate of the hidden units.
    module : torch.nn.Module or None, default=None
        Your own network instead. Its input is scaled numbers, missing-value flags and
        one-hot categories side by side, its output points. It is copied, and runs in
        float32.
    distance : {"plain", "squared"}, default="plain"
        ‖z − z_j‖ or its square, as in the papers.
    batch_size : int or "auto", default="auto"
        Rows that a step predicts; "auto" is a thirty-second of all, between 64 and
        1024.
    n_references : int, default=1024
        Further random rows that are their neighbors in that step.
    learning_rate : float, default=0.003
        Largest learning rate of AdamW. The rate rises in the first twentieth of the
        steps and then falls by a cosine.
    weight_decay : float, default=1e-4
        Weight decay of AdamW, on matrices.
    max_iter : int, default=100
        Maximum number of epochs.
    early_stopping : bool, default=True
        Whether to hold out rows, keep the weights of the epoch that predicts them best,
        and stop after `n_iter_no_change` epochs without improvement. The held-out rows
        are neighbors in predictions.
    validation_fraction : float, default=0.15
        Fraction of rows held out; each network has others.
    n_iter_no_change : int, default=20
        Epochs without improvement after which the training stops.
    n_estimators : int or "auto", default="auto"
        Number of networks, with different initial weights and held-out rows; their
        votes are averaged. "auto" is 4 up to 2,000 rows and fewer beyond, so that
        together they see 8,000 rows: 1 from 4,001 rows on, 1 for a `module`, 1 for
        `partial_fit`. Networks of a `module` all start from its weights.
    linear_vote : bool or "auto", default="auto"
        Whether the linear map of :class:`vicinal.NCAClassifier`, fitted to the same
        numbers and one-hot categories, votes with the networks. Its share is the one
        that predicts the held-out rows best, shrunk towards 0.5 with the weight of 100
        rows. "auto" is True for regression with validation rows,
        `embedding="periodic"`, and up to 10,000 rows and 500 columns. `partial_fit`
        does not fit a linear map.
    calibrate : bool, default=True
        Whether T is the temperature with the best probabilities of the held-out rows,
        or 1. `partial_fit` keeps T.
    warm_start : bool, default=False
        Whether fit continues from the last weights. Columns and network parameters must
        be the same; scales and categories are kept. On the same rows, the same rows are
        held out. On other rows, none are: all epochs are run, and T is kept.
    device : str, default="cpu"
        Device of PyTorch, such as "cuda".
    callback : callable or None, default=None
        Called as callback(training, epoch) after each epoch, with `training.network`,
        `training.losses` and `training.scores`; epochs are counted from 1 for each
        network. StopIteration ends the fit with the networks so far; if a fit continues
        several networks, each still makes an epoch.
    verbose : int, default=0
        Whether to print a line for each epoch of each network.
    random_state : int, RandomState or None, default=None
        Seed of weights, draws and held-out rows. PyTorch has one seed and one number of
        threads per process: fits in several threads wait for each other.
    n_jobs : int or None, default=None
        Threads of the training; None is 1, which suits tables. Use 2 or more for images
        and wide networks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    networks_ : list of torch.nn.Module
        The trained networks.
    temperatures_ : ndarray of shape (n_networks,)
        T of each.
    linear_share_ : float
        Share of the linear map in the votes; 0 without a linear map.
    effective_neighbors_ : ndarray of shape (n_samples,)
        Effective number of neighbors of each training row under the first network: the
        perplexity of p_i. NaN for all but 4,000 random rows.
    n_iter_ : int
        Epochs of the longest training.
    objective_curve_ : ndarray of shape (n_epochs,)
        Objective of the first network, averaged over the steps of each epoch; higher is
        better.
    validation_scores_ : ndarray of shape (n_epochs,)
        Accuracy plus a tenth of the mean log-likelihood of the first network's held-out
        rows, after each epoch.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all are strings.

    See Also
    --------
    vicinal.NCAClassifier : A linear map, without PyTorch.
    vicinal.neural.NeuralNCA : The map alone.

    Notes
    -----
    Cost: an epoch computes O(n_rows · n_references) distances, besides the network; a
    prediction uses all training rows. The cost is proportional to the number of
    networks.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.
    .. [2] Ye, Yin, Zhan, Chao. Revisiting nearest neighbor for tabular data: a deep
       tabular baseline two decades later. ICLR 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from vicinal.neural import NeuralNCAClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> model = NeuralNCAClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X_new, y_new) > 0.93)
    True
    >>> rows, weights = model.explain(X_new[:1], n_neighbors=3)
    >>> rows.shape                      # the training rows with the largest weights
    (1, 3)
    """

    classes_: NDArray[Any]
    _linear_class: ClassVar[Any] = NCAClassifier

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c | x) of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            New rows. A training row is its own neighbor here.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`; all are positive.
        """
        check_is_fitted(self)
        votes = self._votes(self._encode_rows(X)).cpu().numpy()
        # One more training row may belong to any class.
        rest = 1 / (len(self._known.counted) + 1)
        proba = (1 - rest) * votes + rest / len(self.classes_)
        normalized: FloatArray = proba / proba.sum(axis=1, keepdims=True)
        return normalized

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None
    ) -> Self:
        """Train for one epoch on new rows, and add them to the neighbors.

        Scales and categories are those of the first call.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,) or None, default=None
            All labels of all calls; required in the first call.

        Returns
        -------
        self
        """
        if hasattr(self, "_members"):
            known = self.classes_
            if classes is not None and not np.array_equal(np.unique(classes), known):
                raise ValueError(f"classes is not as before: {known.tolist()}.")
        elif classes is None:
            raise ValueError("The first call of partial_fit needs all classes.")
        else:
            known = np.unique(np.asarray(classes))
            if len(known) < 2:
                raise ValueError("classes must name at least two labels.")
        return self._partial_fit(X, y, {"classes_": known})


class NeuralNCARegressor(RegressorMixin, NeuralEstimator):
    """Regressor by the mean of soft neighbors under a neural map.

    The prediction is Σ_j p_j y_j with p_j ∝ exp(−‖z − z_j‖ / T) over all training rows,
    where z is a network's output for a row. The network minimizes the squared error of
    predicting each row of a step by others, as :class:`vicinal.NCARegressor` does with
    a linear map.

    Parameters
    ----------
    n_components, embedding, n_frequencies, embedding_size, frequency_scale, \
categorical_features, categories, scale, n_blocks, hidden_size, dropout, module, \
distance, batch_size, n_references, learning_rate, weight_decay, max_iter, \
early_stopping, validation_fraction, n_iter_no_change, n_estimators, linear_vote, \
calibrate, warm_start, device, callback, verbose, random_state, n_jobs
        As for :class:`NeuralNCAClassifier`. Held-out rows are scored by their squared
        error, and the linear map is that of :class:`vicinal.NCARegressor`.

    Attributes
    ----------
    networks_, temperatures_, linear_share_, effective_neighbors_, n_iter_, \
objective_curve_, n_features_in_, feature_names_in_
        As for :class:`NeuralNCAClassifier`.
    validation_scores_ : ndarray of shape (n_epochs,)
        Minus the mean squared error of the first network's held-out rows, in units of
        the variance of y, after each epoch.

    See Also
    --------
    vicinal.NCARegressor : A linear map, without PyTorch.
    vicinal.neural.NeuralNCAClassifier : The same for classes.

    Notes
    -----
    Cost: see :class:`vicinal.neural.NeuralNCAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neural import NeuralNCARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(600, 3))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1]
    >>> model = NeuralNCARegressor(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    _objective: ClassVar[str] = "squared-error"
    _linear_class: ClassVar[Any] = NCARegressor
    _linear_by_default: ClassVar[bool] = True
    _middle: float
    _unit: float

    def _encode_target(
        self,
        y: NDArray[Any],
        state: dict[str, Any] | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return standardized targets, and their mean and deviation."""
        y = y.astype(np.float64)
        if state is None:
            middle = float(np.average(y, weights=weights))
            spread = float(np.sqrt(np.average((y - middle) ** 2, weights=weights)))
            if not np.isfinite(spread):
                raise ValueError(
                    "y has values too large to compute with: their squares overflow. "
                    "Scale the targets."
                )
            state = {"_middle": middle, "_unit": spread if spread > 0 else 1.0}
        middle, unit = state["_middle"], state["_unit"]
        scaled = torch.from_numpy(((y - middle) / unit).astype(np.float32))
        return scaled, {"_middle": middle, "_unit": unit}

    def predict(self, X: Any) -> FloatArray:
        """Return the mean target of each row's soft neighbors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            New rows. A training row is its own neighbor here.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        means = self._votes(self._encode_rows(X))[:, 0].cpu().numpy()
        return self._middle + self._unit * means.astype(np.float64)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Train for one epoch on new rows, and add them to the neighbors.

        Scales and categories are those of the first call.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        self
        """
        state = None
        if hasattr(self, "_members"):
            state = {"_middle": self._middle, "_unit": self._unit}
        return self._partial_fit(X, y, state)


class NeuralNCA(NeuralEstimator):
    """Neighborhood components analysis with a neural map.

    Trains a network whose points make rows of the same class soft neighbors, as
    :class:`vicinal.NCA` does with a linear map. `transform` returns the points, for
    k-NN, clustering, retrieval or visualization.

    Parameters
    ----------
    n_components, embedding, n_frequencies, embedding_size, frequency_scale, \
categorical_features, categories, scale, n_blocks, hidden_size, dropout, module, \
distance, batch_size, n_references, learning_rate, weight_decay, max_iter, \
early_stopping, validation_fraction, n_iter_no_change, n_estimators, linear_vote, \
calibrate, warm_start, device, callback, verbose, random_state, n_jobs
        As for :class:`NeuralNCAClassifier`, except that `n_estimators="auto"` is 1 and
        `linear_vote` has no effect. The points of several networks are concatenated.

    Attributes
    ----------
    classes_, networks_, temperatures_, effective_neighbors_, n_iter_, \
objective_curve_, validation_scores_, n_features_in_, feature_names_in_
        As for :class:`NeuralNCAClassifier`.

    See Also
    --------
    vicinal.NCA : A linear map, without PyTorch.
    vicinal.neural.NeuralNCAClassifier : Predicts by the same neighbors.

    Notes
    -----
    Cost: see :class:`vicinal.neural.NeuralNCAClassifier`.

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

    # `transform` returns n_components columns unless n_estimators is given.
    _max_networks: ClassVar[int] = 1
