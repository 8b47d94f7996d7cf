"""
A picture, and how much of it holds
===================================

A map of labeled rows can show clear groups that new rows do not have. ``SupervisedMap``
draws the rows twice: on the map that all labels have made, and as placed by maps that
have not seen their label. The accuracy of 5-NN in the second picture is that of new
rows, and permuted labels show what chance would give.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA, SupervisedMap

# %%
# Digits
# ------
#
# A linear plane cannot unfold ten classes. A layout of the neighborhoods can, and
# nearly all held-out digits fall among their own kind.

X, y = load_digits(return_X_y=True)
X = X / 16
digits = SupervisedMap(random_state=0).fit(X, y)
digits.plot(s=6)
plt.show()

# %%
# New rows are placed among the others.

known, new = np.arange(1200), np.arange(1200, len(X))
for name, model in {
    "SupervisedMap": SupervisedMap(cv=None, random_state=0),
    "NCA(2)": NCA(2, objective="log", max_iter=200, random_state=0),
}.items():
    plane = model.fit_transform(X[known], y[known])
    vote = KNeighborsClassifier(5).fit(plane, y[known])
    print(f"{name}: {vote.score(model.transform(X[new]), y[new]):.1%} of new digits")

# %%
# A mixed table
# -------------
#
# A data frame with categories and gaps is taken as it is: its metric is a sum of
# curves, one for each column. Here the class depends on the size and on the color, and
# three columns say nothing.

rng = np.random.default_rng(0)
color = rng.choice(["red", "green", "blue"], size=600)
size = rng.normal(size=600)
frame = pl.DataFrame(
    {
        "color": color,
        "size": pl.Series(size).scatter(np.flatnonzero(rng.random(600) < 0.05), None),
        "shop": rng.choice(list("abcde"), size=600),
        "weight": rng.normal(size=600),
        "price": rng.normal(size=600),
    }
)
kind = np.where(color == "red", "plain", np.where(np.abs(size) > 0.7, "odd", "even"))
SupervisedMap(random_state=0).fit(frame, kind).plot()
plt.show()

# %%
# Pure noise
# ----------
#
# 150 columns of noise separate any labels in a linear plane: the training rows of
# ``NCA(2)`` fall into three clouds. Held-out rows do not, and a warning says so.
# ``layout="pca"`` keeps the plane of the metric.

noise, chance = rng.normal(size=(200, 150)), rng.integers(3, size=200)
linear = SupervisedMap(NCA(2), layout="pca", random_state=0).fit(noise, chance)
linear.plot()
plt.show()
print(f"seen in fit {linear.train_score_:.0%}, held out {linear.score_:.0%}")

# %%
# The default metric finds nothing to learn on most noise, and its picture is without
# order from the start.

default = SupervisedMap(random_state=0).fit(noise, chance)
print(f"seen in fit {default.train_score_:.0%}, held out {default.score_:.0%}")
default.plot()
plt.show()
