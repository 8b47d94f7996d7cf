"""
Callbacks and progress
======================

You can watch a fit, and stop it. The function `callback` is called after each iteration
with the map so far; if it raises `StopIteration`, the fit ends there and keeps the map.
`verbose=1` prints a line for each iteration, with the remaining time.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA
from vicinal.plotting import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.4, random_state=0, stratify=y
)

# %%
# Here the callback scores 3-NN on rows that the fit does not see, and stops when there
# was no improvement for ten iterations.

watched = []


def watch(flat_map, _iteration):
    A = flat_map.reshape(2, -1)
    knn = KNeighborsClassifier(3).fit(X_train @ A.T, y_train)
    watched.append(knn.score(X_test @ A.T, y_test))
    if max(watched) > max([0, *watched[-10:]]):
        raise StopIteration


nca = NCA(2, objective="log", max_iter=150, callback=watch, random_state=0).fit(
    X_train, y_train
)
print(f"stopped after {nca.n_iter_} iterations, {max(watched):.1%} at best")

# %%
# `early_stopping=True` does this for you, with a tenth of the training rows.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
ConvergenceDisplay.from_estimator(nca, ax=left)
right.plot(range(1, len(watched) + 1), watched, ".-")
right.set(xlabel="iteration", ylabel="3-NN on rows not seen")
plt.show()
