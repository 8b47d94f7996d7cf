"""
Does a learned metric help, and which one?
==========================================

`vicinal.compare` is the command `vicinal compare` in Python. It tries all methods on
the same random splits, tests which differences are real, and recommends one in a
sentence.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from vicinal import compare

data = load_wine()
result = compare(
    data.data,
    data.target_names[data.target],
    feature_names=list(data.feature_names),
    methods="euclidean standardised pca lda lfda ldg",
    n_splits=8,
    random_state=0,
)
print(result.verdict())
print(result.table())

# %%
# ``result.to_html("report.html")`` writes a page to click through: maps, neighbours,
# features and confusions. ``result.plot()`` draws the scores with their intervals.

result.plot()
plt.show()
