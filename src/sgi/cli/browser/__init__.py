"""Terminal browser of runs and rows, shown by ``sgi view``. Its modules need the extra ``view``."""
