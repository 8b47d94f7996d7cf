"""
A pipeline with GridSearchCV
============================

Every estimator of vicinal is a scikit-learn estimator, so it works in pipelines and
grid searches. Here a grid search chooses the dimension of NCA's map and its penalty
together with the k of k-NN.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import NCA

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, random_state=0, stratify=y
)
pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("nca", NCA(objective="log", max_iter=100, tol=1e-3)),
        ("knn", KNeighborsClassifier()),
    ]
)
grid = {
    "nca__n_components": [1, 2, 4, 13],
    "nca__alpha": [0.001, 0.01, 0.1],
    "knn__n_neighbors": [1, 5, 15],
}

# %%
search = GridSearchCV(pipeline, grid, cv=5).fit(X_train, y_train)
print(search.best_params_)
print(f"{search.best_score_:.3f} in the folds, {search.score(X_test, y_test):.3f} "
      "on rows that the search has not seen")  # fmt: skip

# %%
# Accuracy for each dimension and penalty, with the best k for each.

scores = search.cv_results_["mean_test_score"].reshape(3, 3, 4).max(axis=0)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
shown = ax.imshow(scores, cmap="cividis", aspect="auto")
ax.set_xticks(range(4), grid["nca__n_components"])
ax.set_yticks(range(3), grid["nca__alpha"])
ax.set(xlabel="n_components", ylabel="alpha", title="accuracy in five folds")
for (row, column), value in np.ndenumerate(scores):
    dark = value < np.mean([scores.min(), scores.max()])
    ax.text(column, row, f"{value:.3f}", ha="center", color="w" if dark else "k")
fig.colorbar(shown)
plt.show()
