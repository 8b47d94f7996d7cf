"""
Does a learned metric help, and which one?
==========================================

`vicinal.compare` is the command `vicinal compare` in Python: all methods on the same
random splits, intervals, tests corrected for the number of methods, and one sentence
that says what to do.
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
result.plot()
plt.show()

# %%
# ``result.to_html("report.html")`` writes a page to click through: maps, neighbours,
# features and confusions.
