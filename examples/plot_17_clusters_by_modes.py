"""
Clusters without a number of clusters
=====================================

`ModeClustering` moves every row uphill on the learned density until it reaches a peak,
a *mode*. Rows that reach the same peak form a cluster. The kernels of the density have
the shape of the data, so that long clusters side by side stay apart.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from vicinal import ModeClustering

rng = np.random.default_rng(0)
y = np.arange(450) % 3
X = rng.normal(size=(450, 2)) * [2.5, 0.25]
X[:, 1] += 2 * y
X = X @ np.array([[0.8, 0.6], [-0.6, 0.8]])

# %%
# k-means is told that there are three clusters, and cuts across them. `ModeClustering`
# is not told their number. It widens the learned kernels by a factor of 2.5, because
# those that make the best density have more peaks than there are clusters.

found = {
    "the three clusters": y,
    "k-means, 3": KMeans(3, n_init=10, random_state=0).fit_predict(X),
    "ModeClustering": ModeClustering(width=2.5).fit_predict(X),
}
fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, labels) in zip(axes, found.items(), strict=True):
    agreement = adjusted_rand_score(y, labels)
    print(f"{name:20s} {len(set(labels))} clusters, agreement {agreement:.2f}")
    ax.scatter(*X.T, c=labels, cmap="tab10", s=10)
    ax.set(title=f"{name}: {agreement:.2f}", xticks=[], yticks=[], aspect="equal")
plt.show()
