"""
Transfer between cameras
========================

One camera has seen digits, and all of them are labelled. Another camera sees them
tilted, blurred and paler, and only two of each digit are labelled. `TransferLDG` learns
one map for both, so that the labels of the first camera help the second.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, rotate
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vicinal import TransferLDG

X, y = load_digits(return_X_y=True)
images = X.reshape(-1, 8, 8)


def other_camera(pictures):
    tilted = rotate(pictures, 15, axes=(1, 2), reshape=False, order=1)
    return 0.6 * gaussian_filter(tilted, (0, 0.5, 0.5)) + 3


half = len(X) // 2
X_source, y_source = X[:half], y[:half]
X_target = other_camera(images[half:]).reshape(-1, 64)
y_target = y[half:]

# %%
# From the second camera there are two labelled rows of each digit; the rest is to be
# classified. Which rows are labelled is drawn ten times.

scores = {
    "target rows alone": [],
    "both, 3-NN as they are": [],
    "both, 3-NN under TransferLDG": [],
}
for seed in range(10):
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(y_target == c), 2, replace=False) for c in range(10)]
    )
    rest = np.setdiff1d(np.arange(len(X_target)), known)
    source = StandardScaler().fit_transform(X_source)
    target = StandardScaler().fit_transform(X_target)
    knn = KNeighborsClassifier(1).fit(target[known], y_target[known])
    scores["target rows alone"].append(knn.score(target[rest], y_target[rest]))
    both = np.vstack([source, target[known]])
    labels = np.concatenate([y_source, y_target[known]])
    knn = KNeighborsClassifier(3).fit(both, labels)
    scores["both, 3-NN as they are"].append(knn.score(target[rest], y_target[rest]))
    model = TransferLDG(random_state=0).fit(
        X_target[known], y_target[known], X_source=X_source, y_source=y_source
    )
    learned = np.mean(model.predict(X_target[rest]) == y_target[rest])
    scores["both, 3-NN under TransferLDG"].append(learned)
for name, values in scores.items():
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    print(f"{name:30s} {np.mean(values):.1%} ± {error:.1%}")

# %%
fig = plt.figure(figsize=(10, 3.6), layout="constrained")
pictures, chart = fig.subfigures(1, 2, width_ratios=[1, 1.4])
for k, ax in enumerate(pictures.subplots(2, 4).T.ravel()):
    image = (images[k // 2], other_camera(images[k // 2][None])[0])[k % 2]
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=16)
    ax.set(xticks=[], yticks=[])
pictures.suptitle("first camera, and second")
ax = chart.subplots()
ax.boxplot(list(scores.values()), orientation="horizontal", tick_labels=list(scores))
ax.set_xlabel("accuracy on the second camera")
plt.show()
