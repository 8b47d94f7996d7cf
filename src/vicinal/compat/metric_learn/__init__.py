"""metric-learn's public names, parameters and shapes, on the estimators of vicinal.

A script runs with its imports changed::

    import vicinal.compat.metric_learn as metric_learn
    from vicinal.compat.metric_learn.constraints import wrap_pairs

Its submodules have their names here, too: `constraints`, `base_metric`, and one for
each method. What is not the same stands in docs/migration-metric-learn.md. Parameters
that mean nothing here warn once.

>>> import vicinal.compat.metric_learn as metric_learn
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> lfda = metric_learn.LFDA(n_components=2, k=2)
>>> lfda.fit_transform(X, y).shape
(150, 2)
>>> pairs, y_pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]]], [1, -1]
>>> itml = metric_learn.ITML().fit(pairs, y_pairs)
>>> itml.predict(pairs).tolist()
[1, -1]
"""

from vicinal.compat.metric_learn import base_metric as base_metric
from vicinal.compat.metric_learn.constraints import Constraints, wrap_pairs
from vicinal.compat.metric_learn.covariance import Covariance
from vicinal.compat.metric_learn.itml import ITML, ITML_Supervised
from vicinal.compat.metric_learn.lfda import LFDA
from vicinal.compat.metric_learn.lmnn import LMNN
from vicinal.compat.metric_learn.lsml import LSML, LSML_Supervised
from vicinal.compat.metric_learn.mlkr import MLKR
from vicinal.compat.metric_learn.mmc import MMC, MMC_Supervised
from vicinal.compat.metric_learn.nca import NCA
from vicinal.compat.metric_learn.rca import RCA, RCA_Supervised
from vicinal.compat.metric_learn.scml import SCML, SCML_Supervised
from vicinal.compat.metric_learn.sdml import SDML, SDML_Supervised

# The version of metric-learn whose names these are.
__version__ = "0.7.0"

__all__ = [
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "Constraints",
    "Covariance",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
    "SDML_Supervised",
    "__version__",
    "wrap_pairs",
]
