"""Scores, labels and questions of simulated answers."""

import numpy as np


def simulate_answers(generator, questions, lift=1.0):
    """Two answers per question, one true; half of the variance is shared. True AUROC at lift 1: Φ(1/√2)."""
    shared = np.repeat(generator.normal(size=questions), 2)
    labels = np.tile([True, False], questions)
    noise = generator.normal(size=2 * questions)
    scores = np.sqrt(0.5) * shared + np.sqrt(0.5) * noise + lift * labels
    return scores, labels, np.repeat(np.arange(questions), 2)
