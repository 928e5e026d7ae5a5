"""The grounding detector scores how well the passages support a response, without a judge.

Read the modules in this order:

1. `detector` is the metric; `prepared_row` normalises texts (`normalize_unicode`) and checks the `language`.
2. `analysis` splits a response into `words`, sentences, `meta_statements` and `facts`.
3. `passage_index` finds windows of passages (40 words) that share words with a sentence; `token_support`
   marks the words of the response that these windows contain.
4. `signals` computes the numbers that measure support, with `passage_similarity`; `model` combines them.
5. `nli` adds an entailment model; `explain` builds the `evidence_map`: the evidence for each sentence.
"""
