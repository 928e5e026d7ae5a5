"""Embedding models, token encoders and entailment models.

``model_location.find_model`` resolves the name of a model of any kind; each sub-package opens one kind in
``load``, with one module for each runtime.
"""
