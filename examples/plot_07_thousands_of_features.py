"""
LDG on thousands of features
============================

300 digits, with their 64 pixels hidden among 5,936 columns of noise. NCA would have to
learn 6,000 numbers for each dimension. LDG solves one eigenproblem, exactly, in the
space that is spanned by the 300 rows.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vicinal import LDG

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
chosen = rng.permutation(np.flatnonzero(y < 4))
X, y = X[chosen], y[chosen]
X = np.hstack([X / 16, rng.normal(scale=0.15, size=(len(X), 6000 - 64))])
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=300, random_state=0, stratify=y
)
X_train, X_test = X_train - X_train.mean(axis=0), X_test - X_train.mean(axis=0)
print(X_train.shape)

# %%
start = time.perf_counter()
ldg = LDG(2, random_state=0).fit(X_train, y_train)
print(f"LDG chose k = {ldg.n_neighbors_} and γ = {ldg.gamma_}, and took "
      f"{time.perf_counter() - start:.1f} s")  # fmt: skip

# %%
# The picture shows rows that neither method has seen.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
for ax, (name, model) in zip(
    axes, {"PCA": PCA(2, random_state=0).fit(X_train), "LDG": ldg}.items(), strict=True
):
    scaler = StandardScaler().fit(model.transform(X_train))
    Z_train = scaler.transform(model.transform(X_train))
    Z = scaler.transform(model.transform(X_test))
    accuracy = KNeighborsClassifier(3).fit(Z_train, y_train).score(Z, y_test)
    for digit in range(4):
        ax.plot(*Z[y_test == digit].T, ".", label=str(digit))
    ax.set(title=f"{name}: {accuracy:.0%} by 3-NN", xticks=[], yticks=[])
axes[0].legend(title="digit")
plt.show()
