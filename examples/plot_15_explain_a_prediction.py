"""
Explain a prediction by its neighbours
======================================

A vote of neighbours explains itself: show the rows that voted. Learning moves rows of
the right class to the front.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCAClassifier
from vicinal.plotting import NeighborsDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=600, random_state=0, stratify=y
)
model = NCAClassifier(20, random_state=0).fit(X_train, y_train)
plain = KNeighborsClassifier(5).fit(X_train, y_train)
print(f"5-NN {plain.score(X_test, y_test):.3f}, "
      f"NCAClassifier {model.score(X_test, y_test):.3f}")  # fmt: skip

# %%
# Take a row that plain 5-NN gets wrong and the learned metric gets right: the one with
# the highest probability.

saved = np.flatnonzero(
    (plain.predict(X_test) != y_test) & (model.predict(X_test) == y_test)
)
query = saved[np.argmax(model.predict_proba(X_test[saved]).max(axis=1))]
chances = model.predict_proba(X_test[[query]])[0]
print(f"It is a {y_test[query]}; plain neighbours say {plain.predict(X_test)[query]}.")
likely = {int(c): round(float(chances[c]), 2) for c in np.argsort(-chances)[:3]}
print("Under the learned metric:", likely)

# %%
# Its nearest training rows, before and after.

X_all = np.vstack([X_test[[query]], X_train])
y_all = np.concatenate([y_test[[query]], y_train])
NeighborsDisplay.from_estimator(
    model, X_all, 0, n_neighbors=8, image_shape=(8, 8), y=y_all
)
plt.show()
