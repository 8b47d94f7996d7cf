"""
NCA's own K
===========

How many neighbours should k-NN ask? Under NCA's map, near points count much and far
points little. `effective_neighbors_` says how many neighbours really count for each
point, and `suggest_n_neighbors()` turns that into a k. Is it any good? Cross-validation
over all k tells.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vicinal import NCA

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
nca = NCA(5, objective="log", alpha=0.001, max_iter=200, random_state=0).fit(X, y)
suggested = nca.suggest_n_neighbors()
print("suggested k:", suggested)

# %%
# The penalty `alpha` determines how wide neighbourhoods are: with 0.01 in place of
# 0.001 the suggestion would be 131 here, and worse than 1. Each map below is learned
# without the fold that it is tested on.

ks = np.unique(np.geomspace(1, 150, 16).astype(int))
scores = np.empty((5, len(ks)))
for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
    learner = clone(nca).fit(X[train], y[train])
    Z, Z_test = learner.transform(X[train]), learner.transform(X[test])
    scores[fold] = [
        KNeighborsClassifier(k).fit(Z, y[train]).score(Z_test, y[test]) for k in ks
    ]
curve = scores.mean(axis=0)
best = int(ks[curve.argmax()])
print(f"best k in five folds: {best}, {curve.max():.3f}; 1-NN {curve[0]:.3f}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.hist(nca.effective_neighbors_, bins=40, color="#0072b2")
left.set(xlabel="effective neighbours of a row", ylabel="rows")
right.semilogx(ks, curve, "o-", color="#0072b2")
right.axvline(suggested, color="#d55e00", ls="--", label=f"suggested: {suggested}")
right.set(xlabel="k of k-NN", ylabel="accuracy in five folds")
right.legend()
plt.show()
