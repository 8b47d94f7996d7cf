"""
To be or not to be
==================

Points inside the letters of a sentence: as a whole the cloud is much wider than high,
but the neighbourhood of each point is round. PCA's whitening makes the whole cloud
round, and the letters unreadable. LCA looks at neighbourhoods, and leaves the letters
as they are (figure 1 of the LCA paper).
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from sklearn.decomposition import PCA

from vicinal import LCA

rng = np.random.default_rng(0)
letters = TextPath((0, 0), "To be or not to be", size=10)
outlines = [Path(outline) for outline in letters.to_polygons()]
tried = rng.uniform(
    letters.vertices.min(axis=0), letters.vertices.max(axis=0), size=(12_000, 2)
)
# Inside an odd number of outlines: the hole of an "o" is inside two.
inside = sum(outline.contains_points(tried).astype(int) for outline in outlines) % 2
X = tried[inside == 1][:3000]

# %%
# Both learn a linear map of the plane. Its rotation is undone so that the text stays
# upright; what remains is how much wider or narrower it makes the letters.


def upright(model):
    A = model.transform(np.eye(2)) - model.transform(np.zeros((1, 2)))
    turn, _, back = np.linalg.svd(A)
    return A @ (turn @ back).T


fig, axes = plt.subplots(3, 1, figsize=(9, 8), layout="constrained")
maps = {
    "the points": np.eye(2),
    "after PCA's whitening": upright(PCA(whiten=True).fit(X)),
    "after LCA": upright(LCA(alpha=0.0).fit(X)),
}
for ax, (name, A) in zip(axes, maps.items(), strict=True):
    stretch = np.linalg.norm(A[0]) / np.linalg.norm(A[1])
    ax.plot(*(X @ A).T, ".", markersize=1.2)
    ax.set(title=f"{name}: letters {stretch:.2f} times as wide", xticks=[], yticks=[])
    ax.set_aspect("equal")
plt.show()
