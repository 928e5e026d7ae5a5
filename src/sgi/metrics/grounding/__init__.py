"""The grounding detector. Are the sentences of a response supported by its passages?

Read the modules in this order:

1. `detector` is the metric; it brings texts to plain typography (`normalize_unicode`), checks the `language`.
2. `analysis` reads a response: its `words`, sentences, `meta_statements` and `facts`.
3. `passage_index` finds passage windows that share words with a sentence; `token_support` marks words.
4. `signals` measures the weakest part, with `passage_similarity`; `model` combines the signals.
5. `nli` adds an entailment model; `explain` builds the `evidence_map` that reports show.
"""
