"""The grounding detector: do the passages support the sentences of a response?

Read the modules in this order:

1. `detector` is the metric; `prepared_row` normalises texts (`normalize_unicode`) and checks the `language`.
2. `analysis` splits a response into `words`, sentences, `meta_statements` and `facts`.
3. `passage_index` finds passage windows that share words with a sentence; `token_support` marks words.
4. `signals` measures the weakest part, with `passage_similarity`; `model` combines the signals.
5. `nli` adds an entailment model; `explain` builds the `evidence_map` that reports show.
"""
