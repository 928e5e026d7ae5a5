"""A judge that is asked only about rows in doubt: which rows those are, and what that saves and promises."""
