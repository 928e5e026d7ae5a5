"""Tables of the languages other than English that the grounding detector reads."""
