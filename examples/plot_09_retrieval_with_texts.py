"""
Retrieval before and after, with texts
======================================

Questions and documents often use different words. Here the questions are the first
sentences of scikit-learn's docstrings, and the documents are the descriptions of the
parameters. `RetrievalAdapter` learns from known pairs how to map a question so that it
finds its document, and measures on held-out questions whether that helped.
"""

# %%
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.discovery import all_estimators, all_functions

from vicinal.adapters import RetrievalAdapter

questions, documents = [], []
for name, value in [*all_estimators(), *all_functions()]:
    text = inspect.getdoc(value) or ""
    first, _, rest = text.partition("\n\n")
    sections = re.split(r"\n(?:Attributes|Returns|Examples|See Also)\n-+\n", rest)
    parameters = sections[0].partition("Parameters\n")[2]
    if len(parameters) > 200:
        questions.append(first.replace("\n", " "))
        documents.append(parameters.replace(name, ""))
print(len(questions), "questions; one of them:", questions[40])

# %%
# Any encoder will do. This one needs nothing but scikit-learn: TF-IDF, reduced to 64
# dimensions, with vectors of length 1.

words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
counts = words.fit_transform(documents + questions)
vectors = normalize(TruncatedSVD(64, random_state=0).fit_transform(counts))
D, Q = vectors[: len(documents)], vectors[len(documents) :]
pairs = np.column_stack([np.arange(len(Q)), np.arange(len(D))])

# %%
# Scores of questions that were held out, before and after, with intervals.

adapter = RetrievalAdapter(random_state=0).fit(Q, D, pairs)
print(adapter.evaluation_)

# %%
# The same as a picture. The error bars are the 95 % intervals of the gain.

names = ["hit@1", "hit@10", "ndcg@10", "mrr"]
changes = [adapter.evaluation_[name] for name in names]
after = np.array([one.after for one in changes])
gains = np.array([one.gain for one in changes])
interval = [
    gains - [one.low for one in changes],
    [one.high for one in changes] - gains,
]
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
places = np.arange(len(names))
ax.bar(places - 0.2, [one.before for one in changes], 0.38, label="as they are")
ax.bar(places + 0.2, after, 0.38, yerr=interval, capsize=4, label="adapted")
ax.set_xticks(places, names)
ax.set(ylabel="mean over held-out questions", title="error bars: interval of the gain")
ax.legend()
plt.show()
