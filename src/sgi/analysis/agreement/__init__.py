"""Agreement of a run with human labels."""
