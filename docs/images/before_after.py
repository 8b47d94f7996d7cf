"""Draw before-after.png anew: ``python docs/images/before_after.py``."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA

HERE = Path(__file__).parent
COLORS = np.array(
    [
        *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9"),
        *("#cc79a7", "#999933", "#332288", "#882255", "#777777"),
    ]
)


def main() -> None:
    """Map digits to the plane without and with labels; draw the rows held out."""
    X, y = load_digits(n_class=6, return_X_y=True)
    X, y = X[y > 0], y[y > 0]  # one to five, as in figure 2 of the NCA paper
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, test_size=1 / 3, random_state=0, stratify=y
    )
    methods = {
        "Before: the two main directions": PCA(2),
        "After: a metric learned by vicinal": NCA(2, max_iter=200, random_state=0),
    }
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    for ax, (title, method) in zip(figure.subplots(1, 2), methods.items(), strict=True):
        Z_train = method.fit(X_train, y_train).transform(X_train)
        Z = method.transform(X_test)
        right = KNeighborsClassifier(3).fit(Z_train, y_train).score(Z, y_test)
        ax.scatter(*Z.T, c=COLORS[y_test], s=4, alpha=0.5, linewidths=0)
        for place, digit in zip(Z, y_test, strict=True):
            ax.text(*place, str(digit), color=COLORS[digit], fontsize=7,
                    ha="center", va="center")  # fmt: skip
        ax.set_title(f"{title}\n3-NN in the plane: {right:.0%} right", fontsize=11)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
    figure.savefig(HERE / "before-after.png", dpi=130)


if __name__ == "__main__":
    main()
