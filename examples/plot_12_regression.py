"""
Regression by neighbours
========================

`NCARegressor` predicts a number as the weighted mean of neighbours, and learns the
metric that makes this prediction best. In Friedman's function, half of the ten features
are noise. They mislead plain neighbours, but not those under the learned metric.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from vicinal import NCARegressor
from vicinal.plotting import MetricDisplay

X, t = make_friedman1(1500, n_features=10, noise=1.0, random_state=0)
X_train, X_test, t_train, t_test = train_test_split(X, t, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
plain = KNeighborsRegressor(10, weights="distance").fit(X_train, t_train)
learned = NCARegressor(random_state=0).fit(X_train, t_train)
print(f"10-NN R² {plain.score(X_test, t_test):.3f}")
print(f"NCARegressor R² {learned.score(X_test, t_test):.3f}")

# %%
# The last five features carry no signal, and get no weight.

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, model) in zip(
    axes, {"10-NN": plain, "NCARegressor": learned}.items(), strict=False
):
    ax.plot(t_test, model.predict(X_test), ".", markersize=3)
    ax.axline((10, 10), slope=1, color="grey", lw=1)
    ax.set(title=f"{name}: R² {model.score(X_test, t_test):.2f}")
    ax.set(xlabel="target", ylabel="predicted", xlim=(0, 30), ylim=(0, 30))
MetricDisplay.from_estimator(learned, ax=axes[2])
plt.show()
