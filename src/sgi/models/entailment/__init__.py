"""Entailment models: compute the probability that a premise entails a hypothesis."""
