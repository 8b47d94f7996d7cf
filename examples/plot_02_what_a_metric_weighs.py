"""
What a metric weighs
====================

A learned map A says how much each feature counts: the share of feature j is
‖A e_j‖² / ‖A‖². Behind a `StandardScaler` these shares compare. For pictures, they are
a picture.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import NCA
from vicinal.plotting import MetricDisplay

wine = load_wine()
model = make_pipeline(StandardScaler(), NCA(2, alpha=0.01, max_iter=300))
model.fit(wine.data, wine.target)

# %%
# Three wines are told apart by a few of their thirteen measurements. On the right,
# digits: pixels at the rim count for nothing, those in the middle, where an 8 has
# what a 0 has not, for most.

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
# `form="diagonal"` learns a weight for each feature and mixes none. Some become 0:
# these features can be left out.

X = StandardScaler().fit_transform(wine.data)
diagonal = NCA(form="diagonal", objective="log", alpha=0.01, max_iter=300)
weights = diagonal.fit(X, wine.target).feature_weights_
for name, weight in sorted(zip(wine.feature_names, weights, strict=True)):
    print(f"{name:30s} {weight:.2f}")
