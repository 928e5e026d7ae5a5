"""The paper's tables and figures made again, each with the paper's numbers, ours, and the controls beside."""

NAMES = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "displacement",
    "calibration",
)
"""What can be reproduced, in the order of the paper; together they are ``all``."""

ALL = "all"
