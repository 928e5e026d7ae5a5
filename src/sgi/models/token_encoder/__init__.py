"""Token encoders: compute a unit vector for every token of a text, which depends on the tokens around it."""
