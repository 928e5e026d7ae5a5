"""Reproductions of the paper's tables and figures, with the paper's numbers, ours, and controls."""

NAMES = (
    *("table1", "table2", "table3", "table4", "table5"),
    *("figure2", "figure3", "figure4", "figure5"),
    *("displacement", "calibration"),
)
"""Names of the experiments, in the order of the paper; together they are ``all``."""

ALL = "all"
