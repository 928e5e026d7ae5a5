"""Intervals, tests, rankings and agreement for clustered rows, and the controls of a detector.

These arguments have the same meaning in all functions that do not document them:

* ``scores``: higher = more likely true (positive), shape (n,), not NaN.
* ``labels``: true or false (or 1 and 0), shape (n,).
* ``clusters``: rows with the same value are dependent, shape (n,); None if all rows are independent.
* ``level``: confidence level, in (0, 1).
* ``draws``: number of resamples; ``seed``: random seed.
* ``first``, ``second``: finite values of the same rows, shape (n,).

Functions raise ValueError if lengths differ, a value is NaN or infinite where it must not be, a label is not
boolean, or a number is out of range. "Raises" sections list only further errors.
"""
