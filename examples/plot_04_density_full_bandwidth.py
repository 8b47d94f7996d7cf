"""
A density with a full bandwidth, against KernelDensity
======================================================

`KernelDensity` has one bandwidth for all directions, and you have to choose it. `LCA`
learns a full matrix of bandwidths, by leave-one-out likelihood. The difference shows
where data are stretched along a direction that is not an axis.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from vicinal import LCA

rng = np.random.default_rng(0)


def stripes(n):
    """Three parallel stripes, oblique to both axes."""
    points = rng.normal(size=(n, 2)) * [2.0, 0.15]
    points[:, 1] += rng.integers(-1, 2, size=n)
    turn = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    return points @ turn.T


X, X_test = stripes(400), stripes(2000)

# %%
# The bandwidth of `KernelDensity` comes from a grid and five folds. `LCA` has nothing
# to set. Both are judged by the mean log-density of rows that neither has seen.

grid = {"bandwidth": np.geomspace(0.02, 2, 25)}
kde = GridSearchCV(KernelDensity(), grid).fit(X).best_estimator_
lca = LCA().fit(X)
scores = {
    f"KernelDensity, {kde.bandwidth:.2f}": (kde, kde.score(X_test) / len(X_test)),
    "LCA": (lca, lca.score(X_test)),
}
for name, (_, score) in scores.items():
    print(f"{name:22s} {score:.2f} nats")

# %%
side = np.linspace(-5, 5, 160)
grid_points = np.stack(np.meshgrid(side, side), axis=-1)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
for ax, (name, (model, score)) in zip(axes, scores.items(), strict=True):
    height = model.score_samples(grid_points.reshape(-1, 2)).reshape(160, 160)
    ax.contourf(side, side, np.exp(height), 14, cmap="cividis")
    ax.plot(*X.T, "w.", markersize=1)
    ax.set(title=f"{name}: {score:.2f} nats", xticks=[], yticks=[], aspect="equal")
    ax.set(xlim=(-5, 5), ylim=(-5, 5))
plt.show()
