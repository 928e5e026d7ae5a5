"""Write the outputs of the published all-MiniLM-L6-v2, for test_embedder_oracle.py.

It needs sentence-transformers, and the folder of the published weights and tokenizer
(sentence-transformers/all-MiniLM-L6-v2, Apache-2.0): python scripts/make_embedder_answers.py FOLDER

- answers/embedder_tokens.json: for each text of support.embedder_texts, the first 8 hex digits of the sha256
  of its token ids (as JSON), without truncation and padding;
- answers/embedder_rows.npy: unit rows, float16, from `SentenceTransformer.encode` on the processor.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))
from support.embedder_texts import embedded_texts, tokenizer_texts  # noqa: E402 - needs the path from the line above

ANSWERS = TESTS / "oracle" / "answers"


def main(folder: Path) -> None:
    """Write both files."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = (tokenizer.encode(text).ids for text in tokenizer_texts())
    digests = [hashlib.sha256(json.dumps(text_ids).encode()).hexdigest()[:8] for text_ids in ids]
    (ANSWERS / "embedder_tokens.json").write_text(json.dumps(digests) + "\n")
    rows = SentenceTransformer(str(folder), device="cpu").encode(embedded_texts())
    np.save(ANSWERS / "embedder_rows.npy", rows.astype(np.float16))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
