"""The evaluation service: single answers of an application, scored as they come and kept as runs."""
