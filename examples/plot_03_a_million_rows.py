"""
A million rows
==============

Exact NCA compares all pairs of rows. From about ten thousand rows on, `NCA` switches to
a stochastic solver whose cost hardly depends on the number of rows. At no size does it
hold an array of rows × rows. Here the same five iterations are made with 1,000 rows,
and with more, up to a million.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA

N_FEATURES, N_CLASSES = 12, 10
rng = np.random.default_rng(0)
mixing = rng.normal(size=(N_FEATURES, N_FEATURES)).astype(np.float32)
centers = rng.normal(size=(N_CLASSES, 5)).astype(np.float32) * 2


def rows(n):
    """Ten classes that differ in five directions, hidden by seven of stronger noise."""
    y = rng.integers(N_CLASSES, size=n)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, :5] += centers[y]
    X[:, 5:] *= 3
    return X @ mixing, y


X_test, y_test = rows(1_000)
X_known, y_known = rows(5_000)  # where 5-NN looks for neighbours


def accuracy(mapped):
    knn = KNeighborsClassifier(5).fit(mapped(X_known), y_known)
    return knn.score(mapped(X_test), y_test)


# %%
# The seconds of a fit are those of the machine that built this page. The accuracy is
# that of 5-NN, always among the same 5,000 rows.

sizes = [1_000, 10_000, 100_000, 1_000_000]
seconds, right = [], []
for n in sizes:
    X, y = rows(n)
    start = time.perf_counter()
    nca = NCA(5, solver="stochastic", max_iter=5, random_state=0).fit(X, y)
    seconds.append(time.perf_counter() - start)
    right.append(accuracy(nca.transform))
    print(f"{n:9,} rows: {seconds[-1]:5.1f} s, 5-NN right on {right[-1]:.1%}")
print(f"without a learned metric {accuracy(np.asarray):.1%}")

# %%
fig, (left, ax) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.loglog(sizes, seconds, "o-")
left.loglog(sizes[:3], [seconds[0] * (n / sizes[0]) for n in sizes[:3]], "k:", lw=1)
left.set(xlabel="rows", ylabel="seconds of a fit", title="dotted: proportional to rows")
ax.semilogx(sizes, right, "o-", label="learned")
ax.axhline(accuracy(np.asarray), color="grey", ls="--", label="as they are")
ax.set(xlabel="rows to learn from", ylabel="accuracy of 5-NN", ylim=(0, 1))
ax.legend()
plt.show()
