"""
Digits in the plane under five metrics
======================================

The same handwritten digits, 64 pixels each, mapped to two dimensions by five methods.
All methods learn from two thirds of the rows. The last third is drawn, and classified
by 3-NN. PCA does not know the labels. LDA pulls the means of the classes apart, LFDA
and LDG look at neighbours, and NCA improves its map until points have neighbours of
their own class.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from vicinal import LDG, NCA
from vicinal.classic import FDA, LFDA

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=1 / 3, random_state=0, stratify=y
)
methods = {
    "PCA": PCA(2),
    "FDA (LDA)": FDA(2),
    "LFDA": LFDA(2),
    "LDG": LDG(2, random_state=0),
    "NCA": NCA(2, objective="log", alpha=0.001, max_iter=200, random_state=0),
}

# %%
# Pixels share one unit, so nothing is standardised. For each method, 3-NN in the plane
# classifies the rows that were held out.

fig, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
right = {}
for ax, (name, method) in zip(axes.flat, methods.items(), strict=False):
    Z_train = method.fit(X_train, y_train).transform(X_train)
    Z_test = method.transform(X_test)
    right[name] = KNeighborsClassifier(3).fit(Z_train, y_train).score(Z_test, y_test)
    ax.scatter(*Z_test.T, c=y_test, cmap="tab10", s=8)
    ax.set(title=name, xticks=[], yticks=[])
bars = axes.flat[-1].barh(list(right), list(right.values()), color="#0072b2")
axes.flat[-1].bar_label(bars, fmt="{:.0%}", padding=3)
axes.flat[-1].set(title="accuracy of 3-NN", xlim=(0, 1.1), xticks=[])
axes.flat[-1].invert_yaxis()
plt.show()
