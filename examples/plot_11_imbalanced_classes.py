"""
Imbalanced classes
==================

One row in twenty is of the rare class. An objective that adds up all rows can do well
without it. `objective="class-density"` normalises each class by itself, so that a small
class counts as much as a large one; `class_prior` sets other weights.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from vicinal import NCAClassifier

X, y = make_classification(
    1500, 12, n_informative=4, n_redundant=2, weights=[0.95], class_sep=0.9,
    flip_y=0, random_state=4,
)  # fmt: skip
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0, stratify=y
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
print(f"{np.mean(y):.1%} of the rows are of the rare class")

# %%
# The prior says how much each class matters to you. What the rare class gains, the
# common one pays for.

models = {
    "log-probability of all rows": NCAClassifier(random_state=0),
    "class densities, uniform prior": NCAClassifier(
        objective="class-density", random_state=0
    ),
    "class densities, prior 0.8 and 0.2": NCAClassifier(
        objective="class-density", class_prior=[0.8, 0.2], random_state=0
    ),
}
fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    said = model.fit(X_train, y_train).predict(X_test)
    balanced = balanced_accuracy_score(y_test, said)
    print(f"{name:35s} balanced accuracy {balanced:.3f}")
    ConfusionMatrixDisplay.from_predictions(
        y_test, said, display_labels=["common", "rare"], ax=ax, colorbar=False,
        cmap="Blues",
    )  # fmt: skip
    ax.set_title(f"{name}\nbalanced accuracy {balanced:.2f}", fontsize=10)
plt.show()
