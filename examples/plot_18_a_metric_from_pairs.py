"""
A metric from pairs
===================

`ITML`, `MMC` and `SDML` need no labels, only some pairs of rows that are known to be
alike or not. What they learn is also a classifier of pairs: a pair is alike if its
distance is below a threshold.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.preprocessing import StandardScaler

from vicinal.classic import ITML, Covariance, pairs_from_labels

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
# Pairs would come from people or clicks; here labels stand in for them.
pairs, alike = pairs_from_labels(y[::2], 200, random_state=0)
test_pairs, test_alike = pairs_from_labels(y[1::2], 600, random_state=1)
rows, test_rows = X[::2], X[1::2]

# %%
models = {
    "whitened": Covariance().fit(rows),
    "ITML": ITML(preprocessor=rows, random_state=0).fit(pairs, alike),
}
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
distance = ((test_rows[test_pairs[:, 0]] - test_rows[test_pairs[:, 1]]) ** 2).sum(
    axis=1
)
RocCurveDisplay.from_predictions(test_alike, -distance, name="as they are", ax=ax)
for name, model in models.items():
    nearness = -model.pair_distance(test_rows[test_pairs])
    print(f"{name:10s} {roc_auc_score(test_alike, nearness):.3f}")
    RocCurveDisplay.from_predictions(test_alike, nearness, name=name, ax=ax)
ax.set_title("pairs of rows that were not learned from")
plt.show()
