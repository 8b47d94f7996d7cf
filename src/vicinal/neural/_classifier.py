"""Classification by soft neighbours under a neural map."""

from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray
from vicinal.base.metric import encoded
from vicinal.nca import NCAClassifier
from vicinal.neural._base import NeuralEstimator, Targets
from vicinal.neural._partial_fit import PartialFitMixin


class ClassTargets:
    """How labels become codes, for estimators that learn from classes."""

    classes_: NDArray[Any]

    def _read_targets(
        self,
        y: NDArray[Any],
        settled: dict[str, Any] | None = None,
        weights: FloatArray | None = None,  # noqa: ARG002 -- classes have no unit
    ) -> Targets:
        """Return codes of classes, or of the classes that are settled."""
        if settled is None:
            classes, codes = encoded(self, y)
        else:
            classes = settled["classes_"]
            unknown = np.setdiff1d(y, classes)
            if len(unknown):
                raise ValueError(
                    f"y has the label {unknown.tolist()[0]!r}, which is none of "
                    f"classes_: {classes.tolist()}. All must be in y, or be named at "
                    "the first call of partial_fit."
                )
            codes = np.searchsorted(classes, y)
        target = torch.from_numpy(codes.astype(np.int64))
        return Targets(target, len(classes), {"classes_": classes})


class NeuralNCAClassifier(
    ClassTargets, ClassifierMixin, PartialFitMixin, NeuralEstimator
):
    """Classifier by NCA's rule under a neural map: training rows near by vote.

    p(c | x) = Σ_{j ∈ c} p_j with p_j ∝ exp(−‖z − z_j‖ / T) over all training rows,
    where z is what a network makes of a row. With its defaults the network is linear
    on learned periodic features of each column, and is trained to maximise the
    logarithm of the probability of the right class (eq. 6 of [1]_) among random rows.

    Parameters
    ----------
    n_components : int, default=64
        Numbers that a row becomes.
    embedding : {"periodic", "none"}, default="periodic"
        What becomes of a column of numbers: itself and mixtures of cosines with learned
        frequencies, or itself alone (for pixels, and for thousands of columns).
    n_frequencies : int, default=16
        Cosines of each column.
    embedding_size : int, default=4
        Numbers that a column becomes.
    frequency_scale : float, default=0.3
        The deviation of the frequencies before the training; higher lets nearby numbers
        differ more.
    categorical_features : "auto", array-like or None, default="auto"
        Columns of categories, by position, name or as booleans. "auto" is the columns
        of a data frame that hold no numbers; None is none.
    categories : {"learned", "one-hot"}, default="learned"
        How a category is coded. Missing ones, and those not seen in training, are
        zeros.
    scale : {"column", "common", "none"}, default="column"
        "column" scales each column by its quartiles and draws in numbers far out;
        "common" has one unit for all, as pixels need; "none" leaves numbers as they
        are. Missing numbers become the column's median, and a flag says so.
    n_blocks : int, default=0
        Residual blocks behind the linear map.
    hidden_size : int, default=256
        Their hidden units.
    dropout : float, default=0.1
        The share of these that each step leaves out.
    module : torch.nn.Module or None, default=None
        A network of your own instead of all that: from scaled numbers, flags of missing
        ones and one-hot categories, side by side, to points. It is copied, and runs in
        float32.
    distance : {"plain", "squared"}, default="plain"
        ‖z − z_j‖ or its square, as in the papers.
    batch_size : int or "auto", default="auto"
        Rows that a step learns to predict; "auto" is a thirty-second of all, from 64 to
        1024.
    n_references : int, default=1024
        Further random rows that are their neighbours in that step.
    learning_rate : float, default=0.003
        The largest step of AdamW; it rises in the first twentieth of all steps and
        falls by a cosine.
    weight_decay : float, default=1e-4
        Of AdamW, on matrices.
    max_iter : int, default=100
        Epochs, at most.
    early_stopping : bool, default=True
        Whether to hold out rows, keep the weights of the epoch that predicts them best,
        and stop when they have not been predicted better for `n_iter_no_change` epochs.
        For predictions these rows are neighbours as all others are.
    validation_fraction : float, default=0.15
        The share of rows held out; each network has others.
    n_iter_no_change : int, default=20
        Epochs without gain after which the training ends.
    n_estimators : int or "auto", default="auto"
        Networks with other starts and other rows held out, whose votes are averaged.
        "auto" is four up to 2,000 rows, and fewer for more, so that together they see
        8,000: one from 4,001 rows on, one for a `module`, one for `partial_fit`.
        Those of a `module` all start from its weights, which may have been learned
        before, and differ by the rows held out and the draws.
    linear_vote : bool or "auto", default="auto"
        Whether the linear map of :class:`vicinal.NCAClassifier`, learned from the same
        numbers and one-hot categories, votes beside the networks, with the share that
        predicts the rows held out best, drawn to a half where these are few. "auto" is
        in regression, of up to 10,000 rows and 500 columns, where rows are held out or
        given to judge by and `embedding` is "periodic". `partial_fit` learns none.
    calibrate : bool, default=True
        Whether T is the one with the best probabilities of the rows held out, or 1.
        `partial_fit` leaves T as it is.
    warm_start : bool, default=False
        Whether fit goes on from the weights of the last one. Columns and architecture
        must be the same; scales and categories stay. On the same rows it holds out the
        same ones. On others, and from a file, nothing is held out, as some may have
        been learned from: all epochs are made, and T stays.
    device : str, default="cpu"
        Where to compute, as in "cuda".
    callback : callable or None, default=None
        Called as callback(training, epoch) after each epoch; `training.network`,
        `training.losses` and `training.scores` say where it is; epochs are counted
        from 1 for each network. A StopIteration ends the fit, with the networks so far;
        where a fit goes on from several, each still makes an epoch.
    verbose : int, default=0
        Whether to print a line for each epoch of each network.
    random_state : int, RandomState or None, default=None
        For weights, draws and rows held out. PyTorch has one seed and one number of
        threads for the whole process: fits in several threads wait for each other.
    n_jobs : int or None, default=None
        Threads of the training; None is one, which suits tables. Give 2 or more for
        images and wide networks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    networks_ : list of torch.nn.Module
        The trained networks.
    temperatures_ : ndarray of shape (n_networks,)
        T of each.
    linear_share_ : float
        The share of the votes that is the linear map's; 0 where there is none.
    effective_neighbors_ : ndarray of shape (n_samples,)
        How many neighbours each training row has in effect, under the first network:
        the perplexity of p_i. NaN for all but 4,000 random rows.
    n_iter_ : int
        Epochs of the longest training.
    objective_curve_ : ndarray of shape (n_epochs,)
        The first network's objective, the mean over each epoch's steps.
    validation_scores_ : ndarray of shape (n_epochs,)
        Accuracy and a tenth of the mean log-likelihood on the first network's rows held
        out, after each epoch.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    vicinal.NCAClassifier : A linear map, without PyTorch.
    vicinal.neural.NeuralNCA : The map alone.

    Notes
    -----
    Cost: an epoch takes O(n_rows · n_references) distances and the network's own work;
    a prediction looks at all training rows. Each of several networks costs as much.

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
    >>> rows.shape                      # whose votes weigh most for this prediction
    (1, 3)
    """

    _objective: ClassVar[str] = "log"
    _linear_kind: ClassVar[Any] = NCAClassifier

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c | x) of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            New rows. A training row counts itself among its neighbours.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`; never quite 0.
        """
        check_is_fitted(self)
        rows = self._encoded(X)
        proba = self._votes(rows).cpu().numpy()
        # As if one further training row might be of any class.
        rest = 1 / (len(self._known.counted) + 1)
        proba = (1 - rest) * proba + rest / len(self.classes_)
        found: FloatArray = proba / proba.sum(axis=1, keepdims=True)
        return found

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
        """Learn from a further piece of the data, in one epoch over it.

        Its rows become neighbours, too. Scales and categories are those of the first
        piece.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,) or None, default=None
            All labels that will ever come; needed at the first call.

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
        return self._learn_piece(X, y, {"classes_": known})
