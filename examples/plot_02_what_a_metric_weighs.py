"""
What a metric weighs
====================

A learned map shows how much each feature counts. In symbols, the share of feature j in
the map A is ‖A e_j‖² / ‖A‖². After a `StandardScaler`, shares can be compared. If the
features are pixels, the shares are a picture.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import NCA
from vicinal.plotting import MetricDisplay

wine = load_wine()
model = make_pipeline(StandardScaler(), NCA(2, alpha=0.01, max_iter=300))
model.fit(wine.data, wine.target)

# %%
# A few of the thirteen measurements are enough to tell three wines apart. On the right
# are digits: pixels at the border count for nothing, and those in the middle, where an
# 8 differs from a 0, for most.

digits = load_digits()
pixels = NCA(5, objective="log", alpha=0.001, max_iter=200, random_state=0)
pixels.fit(digits.data / 16, digits.target)

fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
MetricDisplay.from_estimator(model, feature_names=wine.feature_names, ax=axes[0])
MetricDisplay.from_estimator(pixels, image_shape=(8, 8), ax=axes[1])
plt.show()

# %%
# One weight for each feature
# ---------------------------
# `form="diagonal"` learns one weight for each feature and does not mix features. Where
# a weight becomes 0, the feature can be left out.

X = StandardScaler().fit_transform(wine.data)
diagonal = NCA(form="diagonal", objective="log", alpha=0.01, max_iter=300)
weights = diagonal.fit(X, wine.target).feature_weights_
order = np.argsort(weights)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(np.array(wine.feature_names)[order], weights[order], color="#0072b2")
ax.bar_label(ax.containers[0], fmt="%.2f", padding=3)
ax.set(xlabel="weight", title="one weight for each measurement", xmargin=0.12)
plt.show()
