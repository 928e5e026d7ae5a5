"""Entailment models: does a premise entail a hypothesis?"""
