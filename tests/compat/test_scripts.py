"""Scripts as metric-learn's users write them, with the one line of import changed."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*did not converge", "ignore:.*stopped", "ignore:.*has no effect"
)

SUPERVISED = """
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import metric_learn

points, kinds = make_classification(
    n_samples=150, n_classes=3, n_clusters_per_class=2, n_informative=3,
    class_sep=4.0, n_features=5, n_redundant=0, shuffle=True, random_state=7,
)
scores = {}
train, test, y_train, y_test = train_test_split(points, kinds, random_state=1)
for learner in (
    metric_learn.LMNN(n_neighbors=5, learn_rate=1e-6),
    metric_learn.NCA(max_iter=200),
    metric_learn.LFDA(k=2),
    metric_learn.ITML_Supervised(random_state=3),
    metric_learn.MMC_Supervised(random_state=3),
    metric_learn.SDML_Supervised(
        sparsity_param=0.1, balance_param=0.0015, prior="covariance"
    ),
    metric_learn.LSML_Supervised(tol=0.0001, max_iter=10000, prior="covariance"),
    metric_learn.RCA_Supervised(n_chunks=30, chunk_size=2),
    metric_learn.SCML_Supervised(random_state=3),
    metric_learn.Covariance(),
):
    mapped = learner.fit(train, y_train).transform(train)
    knn = KNeighborsClassifier(3).fit(mapped, y_train)
    scores[type(learner).__name__] = knn.score(learner.transform(test), y_test)
"""

WEAK = """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from metric_learn import ITML, MMC, Constraints
from metric_learn.constraints import wrap_pairs

flowers, species = load_iris(return_X_y=True)
four = Constraints(species).positive_negative_pairs(60, random_state=2)
tuples, same = wrap_pairs(flowers, four)
train, test, y_train, y_test = train_test_split(tuples, same, random_state=2)
itml = ITML(preprocessor=None, random_state=2)
itml.fit(train, y_train, calibration_params={"strategy": "accuracy"})
accuracy = itml.score(test, y_test)
aucs = cross_val_score(ITML(random_state=2), tuples, same, scoring="roc_auc", cv=3)
itml.calibrate_threshold(train, y_train, strategy="max_tpr", min_rate=0.8)
predicted = itml.predict(test)
itml.set_threshold(0.5)
rows = np.column_stack([np.hstack(four[::2]), np.hstack(four[1::2])])
mmc = MMC(preprocessor=flowers, random_state=2)
search = GridSearchCV(mmc, {"diagonal": [True, False]}, cv=2)
search.fit(rows, same)
distances = search.best_estimator_.pair_distance(rows)
similarities = search.best_estimator_.pair_score(rows)
"""

INDICES = """
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from metric_learn import LSML, RCA, SCML, Constraints

table, labels = load_wine(return_X_y=True)
table = StandardScaler().fit_transform(table)
constraints = Constraints(labels)
triplets = constraints.generate_knntriplets(table, 2, 3)
scml = SCML(preprocessor=table, random_state=0).fit(triplets)
order = scml.score(triplets)
a, b, c, d = constraints.positive_negative_pairs(
    num_constraints=80, same_length=True, random_state=0
)
quadruplets = np.column_stack([a, b, c, d])
lsml = LSML(preprocessor=table).fit(quadruplets, weights=np.ones(len(quadruplets)))
right = lsml.score(quadruplets)
chunks = constraints.chunks(n_chunks=40, random_state=0)
rca = RCA(n_components=4).fit(table, chunks)
shape = rca.transform(table).shape
"""

METRIC = """
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_regression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import metric_learn

rows, target = make_regression(120, 5, n_informative=2, random_state=0)
mlkr = metric_learn.MLKR(n_components=2, random_state=0)
pipeline = make_pipeline(mlkr, KNeighborsRegressor(3)).fit(rows, target)
score = pipeline.score(rows, target)
near = mlkr.get_metric()
one = near(rows[0], rows[1])
table = squareform(pdist(rows[:20], metric=near))
M = mlkr.get_mahalanobis_matrix()
components = mlkr.components_
groups = DBSCAN(eps=1.0, metric=near).fit_predict(rows[:40])
version = metric_learn.__version__
"""

MODULES = """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import metric_learn
from metric_learn.base_metric import BaseMetricLearner, MahalanobisMixin
from metric_learn.constraints import Constraints, wrap_pairs
from metric_learn.covariance import Covariance
from metric_learn.itml import ITML, ITML_Supervised
from metric_learn.lfda import LFDA
from metric_learn.lmnn import LMNN
from metric_learn.lsml import LSML_Supervised
from metric_learn.mlkr import MLKR
from metric_learn.mmc import MMC_Supervised
from metric_learn.nca import NCA
from metric_learn.rca import RCA_Supervised
from metric_learn.scml import SCML_Supervised
from metric_learn.sdml import SDML_Supervised

iris = load_iris()
names = iris.target_names[iris.target]
learners = [
    Covariance(), ITML_Supervised(), LFDA(), LMNN(), LSML_Supervised(), MLKR(),
    MMC_Supervised(), NCA(), RCA_Supervised(n_chunks=20, random_state=4),
    SCML_Supervised(), SDML_Supervised(),
]
all_are = [isinstance(each, (BaseMetricLearner,)) for each in learners]
all_are += [isinstance(each, MahalanobisMixin) for each in learners]
learned = learners[8].fit(iris.data, names).transform(iris.data)
pipe = Pipeline([("metric", NCA(max_iter=20)), ("knn", KNeighborsClassifier())])
grid = {"metric__n_components": [1, 2], "knn__n_neighbors": [1, 5]}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
search = GridSearchCV(pipe, grid, cv=folds).fit(iris.data, names)
best = search.best_score_
four = metric_learn.constraints.Constraints(names).positive_negative_pairs(
    n_constraints=30, random_state=1
)
pairs, signs = metric_learn.constraints.wrap_pairs(iris.data, four)
matrix = metric_learn.itml.ITML().fit(pairs, signs).get_mahalanobis_matrix()
"""

FILES = """
import numpy as np
from metric_learn import ITML, NCA

rng = np.random.RandomState(0)
pictures = {f"{who}_{i}.png": rng.rand(6) + (who == "ada") for i in range(12)
            for who in ("ada", "bob")}

def open_pictures(paths):
    return np.array([pictures[path] for path in paths])

files = np.array(sorted(pictures))
who = np.array([name.split("_")[0] for name in files])
pairs = np.array([[a, b] for a in files[::2] for b in files[1::2]])
alike = np.array([1 if a[0] == b[0] else -1 for a, b in pairs])
itml = ITML(preprocessor=open_pictures, random_state=0).fit(pairs, alike)
verified = itml.predict(np.array([["ada_0.png", "ada_7.png"]]))
auc = itml.score(pairs, alike)
nca = NCA(preprocessor=open_pictures, random_state=0).fit(files, who)
mapped = nca.transform(files[:3])
"""


def run(script: str, folder: Path) -> dict[str, Any]:
    """Run a script with vicinal's module in the place of metric-learn's."""
    changed = script.replace(
        "import metric_learn\n", "import vicinal.compat.metric_learn as metric_learn\n"
    ).replace("from metric_learn", "from vicinal.compat.metric_learn")
    assert changed != script
    path = folder / "script.py"
    path.write_text(changed)
    return runpy.run_path(str(path))


def test_supervised_learners_one_after_the_other(tmp_path: Path) -> None:
    scores = run(SUPERVISED, tmp_path)["scores"]
    assert isinstance(scores, dict)
    assert len(scores) == 10
    assert min(scores.values()) > 0.7


def test_pairs_thresholds_and_searches(tmp_path: Path) -> None:
    names = run(WEAK, tmp_path)
    assert names["accuracy"] > 0.8
    assert np.mean(names["aucs"]) > 0.85
    assert set(np.unique(names["predicted"])) == {-1, 1}
    np.testing.assert_allclose(names["distances"], -names["similarities"])


def test_indices_triplets_quadruplets_and_chunks(tmp_path: Path) -> None:
    with pytest.warns(FutureWarning, match="renamed to 'n_constraints'"):
        names = run(INDICES, tmp_path)
    assert names["order"] > 0.8
    assert names["right"] > 0.8
    assert names["shape"] == (178, 4)


def test_the_metric_elsewhere(tmp_path: Path) -> None:
    names = run(METRIC, tmp_path)
    assert names["score"] > 0.8
    np.testing.assert_allclose(names["one"], names["table"][0, 1])
    L = np.asarray(names["components"])
    np.testing.assert_allclose(names["M"], L.T @ L, atol=1e-12)
    assert names["version"] == "0.7.0"


def test_modules_of_each_method(tmp_path: Path) -> None:
    names = run(MODULES, tmp_path)
    assert all(names["all_are"])
    assert names["learned"].shape == (150, 4)
    assert names["best"] > 0.9
    assert names["matrix"].shape == (4, 4)


def test_pictures_known_by_their_files(tmp_path: Path) -> None:
    names = run(FILES, tmp_path)
    assert names["verified"].tolist() == [1]
    assert names["auc"] > 0.9
    assert names["mapped"].shape == (3, 6)
