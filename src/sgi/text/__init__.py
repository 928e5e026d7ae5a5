"""Pure text: tokens, sentences, normalised answers, and how much two texts share. No model, no I/O."""
