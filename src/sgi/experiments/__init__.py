"""The paper's tables and figures made again, each with the paper's numbers, ours, and the controls beside."""
