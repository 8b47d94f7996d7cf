"""Random fits of every estimator over hostile tables."""

import pickle
import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.exceptions import ConvergenceWarning

from benchmarks.hostile.cases import Wrong, refused
from benchmarks.hostile.data import Table, choose, table
from benchmarks.hostile.estimators import NUMBERS, drawn
from vicinal.adapters import RetrievalAdapter


def case(rng: Generator) -> bool:
    """Fit something to a hostile table, and look at what came of it."""
    if rng.random() < 0.1:
        return _adapter(rng)
    found, model = table(rng), drawn(rng)
    y = found.numbers if isinstance(model, NUMBERS) else found.classes
    before = pickle.dumps((found.X, y))
    said = (
        f"{model} on {found.plain.shape} of {getattr(found.X, 'dtype', type(found.X))}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        # scikit-learn's own check adds up inf and -inf before it refuses them.
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            no = refused(lambda: model.fit(found.X, y))
            if no:
                _check_untouched(model)
            else:
                no = refused(lambda: _check(model, found))
        except Wrong as wrong:
            raise Wrong(f"{wrong} ({said})") from wrong
        except Exception as error:
            error.args = (f"{error} ({said})",)
            raise
    if pickle.dumps((found.X, y)) != before:
        raise Wrong(f"the data were changed by {model}")
    return no


def _check_untouched(model: Any) -> None:
    """Raise Wrong where a fit that was refused has left something behind."""
    left = [k for k in vars(model) if k.endswith("_") and not k.startswith("_")]
    if left:
        raise Wrong(f"a fit that was refused leaves {left}")


def _check(model: Any, found: Table) -> None:
    """Raise Wrong where what was learned is not finite, of another shape, no use."""
    n, d = found.plain.shape
    components = getattr(model, "components_", None)
    if components is not None:
        if not np.isfinite(components).all():
            raise Wrong("components_ that are not finite")
        if components.shape[1] != d:
            raise Wrong(f"components_ of shape {components.shape}")
    if hasattr(model, "transform"):
        mapped = np.asarray(model.transform(found.X), dtype=float)
        if len(mapped) != n or not np.isfinite(mapped).all():
            raise Wrong("mapped points that are not finite")
    _check_predictions(model, found)
    if hasattr(model, "score_samples") and np.isnan(model.score_samples(found.X)).any():
        raise Wrong("log densities that are not numbers")


def _check_predictions(model: Any, found: Table) -> None:
    if hasattr(model, "predict"):
        predicted = model.predict(found.X)
        classes = getattr(model, "classes_", None)
        if classes is not None and not np.isin(predicted, classes).all():
            raise Wrong("a predicted class that is none")
        if classes is None and not np.isfinite(predicted).all():
            raise Wrong("predictions that are not finite")
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(found.X)
        if not (np.all(p >= 0) and np.allclose(p.sum(axis=1), 1, atol=1e-3)):
            raise Wrong("probabilities that do not add up to 1")


def _adapter(rng: Generator) -> bool:
    """Fit the adapter of embeddings to hostile queries, documents and relevance."""
    documents = table(rng).X
    n, d = np.shape(documents)
    n_queries = int(choose(rng, 1, 2, rng.integers(1, 40)))
    scale = 10 ** rng.uniform(-300, 300) if rng.random() < 0.3 else 1.0
    with np.errstate(over="ignore", under="ignore"):
        queries = rng.normal(size=(n_queries, d)) * scale
    m = int(rng.integers(1, 60))
    pairs = np.column_stack([rng.integers(n_queries, size=m), rng.integers(n, size=m)])
    model = RetrievalAdapter(
        side=choose(rng, "query", "query", "document", "both", "shared"),
        n_components=choose(rng, None, None, 1),
        metric=choose(rng, "auto", "cosine", "euclidean"),
        alpha=choose(rng, "auto", 0.0, 0.1),
        max_iter=int(rng.integers(1, 10)),
        random_state=0,
    )

    def use() -> None:
        mapped = model.transform_queries(queries), model.transform_documents(documents)
        if not all(np.isfinite(one).all() for one in mapped):
            raise Wrong("mapped vectors that are not finite")
        found, _ = model.rank(queries, documents, k=min(3, n))
        if not (np.all(found >= 0) and np.all(found < n)):
            raise Wrong("a document that is none")

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")
        warnings.simplefilter("ignore", UserWarning)
        try:
            if refused(lambda: model.fit(queries, documents, pairs)):
                _check_untouched(model)
                return True
            return refused(use)
        except Exception as error:
            error.args = (f"{error} ({model} on {n_queries}, {n} x {d}, {scale:.0e})",)
            raise
