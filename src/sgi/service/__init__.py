"""The evaluation service: scores the answers of an application one by one, and stores them as runs."""
