"""Token encoders: a unit vector for every token of a text, in its context."""
