"""
Segments of an image by mean shift
==================================

The paper of local component analysis names a use that it leaves to others: mean shift
with the learned kernel, to cut an image into segments. A pixel is a row of five
numbers, its colour and its place. Pixels that climb to the same peak of the density
form a segment.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.cluster import MeanShift, estimate_bandwidth
from sklearn.datasets import load_sample_image

from vicinal import LCA, ModeClustering

image = load_sample_image("flower.jpg")[:420, :630] / 255
smooth = uniform_filter(image, size=(14, 14, 1))


def pixels(rows, columns):
    """Return colours and places, a row for each pixel."""
    return np.column_stack([smooth[rows, columns], rows / 630, columns / 630])


rng = np.random.default_rng(0)
X = pixels(rng.integers(420, size=1200), rng.integers(630, size=1200))
grid = np.mgrid[7:420:14, 7:630:14]
shown = pixels(*grid.reshape(2, -1))

# %%
# Usual mean shift has one bandwidth for colours and places, though their units have
# nothing to do with each other. The covariance that `LCA` learns sets both, and the
# directions in which colours vary together. Both learn from 1,200 random pixels.

density = LCA(alpha=1e-4)
learned = ModeClustering(density, width=2.5).fit(X)
deviations = np.sqrt(np.diag(learned.density_.covariance_))
print("kernel, standard deviations:", deviations.round(3))
usual = MeanShift(bandwidth=estimate_bandwidth(X, quantile=0.05, random_state=0)).fit(X)
found = {
    "mean shift, one bandwidth": usual.predict(shown),
    "mean shift, learned kernel": learned.predict(shown),
}

# %%
# Each segment is drawn in its mean colour.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("image")
for ax, (name, labels) in zip(axes[1:], found.items(), strict=True):
    colours = np.zeros((len(shown), 3))
    for label in np.unique(labels):
        colours[labels == label] = shown[labels == label, :3].mean(axis=0)
    ax.imshow(colours.reshape(*grid.shape[1:], 3))
    ax.set_title(f"{name}: {len(np.unique(labels))} segments")
    print(f"{name}: {len(np.unique(labels))} segments")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()
