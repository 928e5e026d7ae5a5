"""A run against the labels of people: labels read, agreement measured, and told in words."""
