"""
NCA's own K
===========

NCA gives each point a soft neighbourhood. Its perplexity, `effective_neighbors_`, says
how many neighbours a point really has, and `suggest_n_neighbors()` makes a k for k-NN
of it. Is that k any good? Five folds tell, for all k.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import NCA

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
nca = NCA(5, objective="log", alpha=0.001, max_iter=200, random_state=0).fit(X, y)
suggested = nca.suggest_n_neighbors()
print("suggested k:", suggested)

# %%
# The map is learned inside each fold, too.

ks = np.unique(np.geomspace(1, 150, 16).astype(int))
learner = NCA(5, objective="log", alpha=0.001, max_iter=200, random_state=0)
folds = [
    cross_val_score(
        make_pipeline(StandardScaler(), learner, KNeighborsClassifier(k)), X, y
    ).mean()
    for k in [1, suggested]
]
fixed = nca.transform(X)
curve = [cross_val_score(KNeighborsClassifier(k), fixed, y).mean() for k in ks]
print(f"1-NN {folds[0]:.3f}, {suggested}-NN {folds[1]:.3f}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.hist(nca.effective_neighbors_, bins=40, color="#0072b2")
left.set(xlabel="effective neighbours of a row", ylabel="rows")
right.semilogx(ks, curve, "o-", color="#0072b2")
right.axvline(suggested, color="#d55e00", ls="--", label=f"suggested: {suggested}")
right.set(xlabel="k of k-NN", ylabel="accuracy under the map of all rows")
right.legend()
plt.show()
