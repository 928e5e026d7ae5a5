"""A test bench for metrics: changes grounded answers in known ways, and measures how each metric reacts."""
