"""Information-theoretic metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.pair_classifier import PairClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.classic._logdet_metric import LogDetMetric


class ITML(PairClassifier, LogDetMetric):
    """Information-theoretic metric learning.

    The Mahalanobis matrix nearest to a prior one, by the LogDet divergence, under
    which pairs that are alike are near, and others far [1]_: eq. 8 of [2]_, with slack.
    The pairs are given, or drawn from points with labels: half of one class.

    Parameters
    ----------
    gamma : float or "cv", default="cv"
        The price of slack: small values stay at the prior, large ones insist on the
        constraints. "cv" tries 0.001, 0.01, 0.1 and 1 by 3-NN on rows held out (of
        pairs, by the area under the ROC curve of pairs held out), and
        takes the least that is within one standard error of the best and one better
        than the prior; where none is, the metric is the prior.
    prior : {"identity", "covariance"} or array-like, default="identity"
        The matrix to stay near: the identity, the inverse of the covariance, as
        Ledoit and Wolf estimate it, or one of shape (n_features, n_features).
    bounds : tuple of two floats or None, default=None
        u and v, the squared distances that alike pairs shall have at most, and others
        at least. None takes them from the data.
    n_constraints : int or "auto", default="auto"
        How many pairs to draw from labels, half of them of one class. "auto" is 20
        times the squared number of classes, at least 2,000 and at most 10,000; fewer,
        but 1,000 at least, with more than 158 features.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of pairs, and for the folds of gamma="cv".
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, where pairs are given as two indices; or what returns points for
        an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        Λ^½ Lᵀ of the learned M = L Λ Lᵀ (section 3 of [2]_), the largest eigenvalue
        first; float32 if X is. With more features than rows and the identity for a
        prior, only as many rows as there are dimensions that the rows of X differ in:
        along all others M is the identity.
    gamma_ : float
        The γ in use; 0 where "cv" found none better than the prior.
    bounds_ : tuple of two floats
        u and v: pairs of one class shall have at most the squared distance u, others
        at least v. The 5th and 95th percentiles over random pairs, under the prior.
    threshold_ : float
        After a fit to pairs: the distance up to which they are predicted to be alike.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        The objective at the start and after each iteration: the divergence from the
        prior and the price of all slack. It never rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.MMC : Another use of the same pairs.
    vicinal.classic.LSML : Learns from quadruplets.
    vicinal.classic.TransferITML : Draws pairs across two domains.

    Notes
    -----
    The problem is convex, and what [1]_ solves by projections onto one pair after
    the other is solved here for all pairs at once, by L-BFGS over the map: the same
    optimum in tens of iterations rather than in thousands of rounds. An iteration costs
    O(n_constraints · n_features²), whatever the number of rows.

    M has full rank. To reduce the dimension as [2]_ does, pick features of the mapped
    points: ``make_pipeline(ITML(), MRMR(n_features_to_select=5))``.

    Cost: O(n_constraints · D²) for each iteration, of which there are ten to fifty;
    gamma="cv" takes four such fits more for each fold.

    References
    ----------
    .. [1] Davis, Kulis, Jain, Sra, Dhillon. Information-Theoretic Metric Learning.
       International Conference on Machine Learning, 2007.
    .. [2] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import ITML, MRMR
    >>> X, y = load_wine(return_X_y=True)
    >>> reduce = make_pipeline(ITML(random_state=0), MRMR(n_features_to_select=5))
    >>> model = make_pipeline(StandardScaler(), reduce, KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.9)
    True

    Pairs, as two row numbers each; alike (1) or not (-1):

    >>> from vicinal.classic import pairs_from_labels
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs, alike = pairs_from_labels(y, 300, random_state=0)
    >>> itml = ITML(preprocessor=X, random_state=0)
    >>> scores = cross_val_score(itml, pairs, alike, scoring="roc_auc")
    >>> bool(scores.mean() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "bounds": [tuple, list, None],
        "n_constraints": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self,
        gamma: float | str = "cv",
        *,
        prior: str | ArrayLike = "identity",
        bounds: tuple[float, float] | None = None,
        n_constraints: int | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.bounds = bounds
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        self._learn(X, codes, bounds=self._checked_bounds())

    def _learn_pairs(self, pairs: Tuples, signs: IntArray, **_: Any) -> None:
        self._learn_given(pairs, signs, self._checked_bounds())

    def _checked_bounds(self) -> tuple[float, float] | None:
        if self.bounds is None:
            return None
        values = np.asarray(self.bounds, dtype=float)
        if values.shape != (2,) or not 0 < values[0] < values[1] < np.inf:
            raise ValueError(
                "bounds must be two squared distances, 0 < u < v: at most u for alike "
                f"pairs, at least v for others; got {self.bounds!r}."
            )
        return float(values[0]), float(values[1])
