"""The pages' addresses: each reads what is asked for, takes a view, and shows it with a template."""
