"""A test bench for metrics: grounded answers spoiled on purpose, and what metrics see of it."""
