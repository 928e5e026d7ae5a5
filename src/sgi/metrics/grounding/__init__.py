"""Whether a response is supported by its passages, sentence by sentence."""
