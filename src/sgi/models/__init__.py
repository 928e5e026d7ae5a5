"""Embedding models, token encoders and entailment models.

``model_location.find_model`` finds a model of any kind by its name. Each sub-package is for one kind of
model: its module ``load`` opens a model, and it has one module for each runtime.
"""
