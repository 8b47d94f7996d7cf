"""Draw before.png and after.png, and both for the dark: run this program."""

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA

HERE = Path(__file__).parent
# Ink, frame, and a color for each digit. The dark picture has no background of its own.
LIGHT = ("#1a1a1a", "#cccccc", ["#0072b2", "#b37700", "#007a59", "#d55e00", "#a0437f"])
DARK = ("#e0e0e0", "#555555", ["#56b4e9", "#e69f00", "#2fc79b", "#ff8a4c", "#e59cc4"])


def main() -> None:
    """Map digits to the plane without and with labels; draw the rows held out."""
    X, y = load_digits(n_class=6, return_X_y=True)
    X, y = X[y > 0], y[y > 0]  # one to five, as in figure 2 of the NCA paper
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, test_size=1 / 3, random_state=0, stratify=y
    )
    methods = {"before": PCA(2), "after": NCA(2, max_iter=200, random_state=0)}
    titles = {
        "before": "Before: the two main directions",
        "after": "After: a metric learned by vicinal",
    }
    for name, method in methods.items():
        Z_train = method.fit(X_train, y_train).transform(X_train)
        Z = method.transform(X_test)
        right = KNeighborsClassifier(3).fit(Z_train, y_train).score(Z, y_test)
        title = f"{titles[name]}\n3-NN in the plane: {right:.0%} right"
        for mode, (ink, frame, colors) in {"": LIGHT, "-dark": DARK}.items():
            figure = Figure(figsize=(4.5, 4.2), layout="constrained")
            ax = figure.subplots()
            for place, digit in zip(Z, y_test, strict=True):
                ax.text(*place, str(digit), color=colors[digit - 1], fontsize=8.5,
                        ha="center", va="center")  # fmt: skip
            ax.set_title(title, fontsize=12, color=ink)
            ax.set(xticks=[], yticks=[], facecolor="none")
            ax.update_datalim(Z)
            ax.autoscale_view()
            ax.spines[:].set_color(frame)
            path = HERE / f"{name}{mode}.png"
            figure.savefig(path, dpi=130, transparent=bool(mode))


if __name__ == "__main__":
    main()
