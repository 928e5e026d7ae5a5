"""Pure functions on texts: tokens, sentences, normalised answers and word overlap. No model, no I/O."""
