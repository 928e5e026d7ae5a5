"""The errors that SGI raises, and its warning.

Each error has a ``message`` and a ``hint``, which says what you can do. All errors are subclasses of
`SgiError`. They are defined in lower layers, which cannot import this module; import them from here.

>>> from sgi.errors import DataError, SgiError
>>> issubclass(DataError, SgiError)
True
"""

from sgi.kernel.errors import (
    BudgetExceededError,
    DataError,
    DimensionError,
    EmbedderError,
    JudgeError,
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
    MissingExtraError,
    ModelCorruptError,
    ModelMissingError,
    NonFiniteVectorError,
    NotComparableError,
    NotPairedError,
    RunBusyError,
    RunMismatchError,
    SchemaVersionError,
    ScorerBusyError,
    ScorerClosedError,
    SgiError,
    StoreDamagedError,
    StoreError,
    TargetError,
    TruncationWarning,
    UnknownNameError,
    UsageError,
)

__all__ = [
    "BudgetExceededError",
    "DataError",
    "DimensionError",
    "EmbedderError",
    "JudgeError",
    "JudgeMalformedError",
    "JudgeRefusedError",
    "JudgeRejectedError",
    "JudgeUnavailableError",
    "MissingExtraError",
    "ModelCorruptError",
    "ModelMissingError",
    "NonFiniteVectorError",
    "NotComparableError",
    "NotPairedError",
    "RunBusyError",
    "RunMismatchError",
    "SchemaVersionError",
    "ScorerBusyError",
    "ScorerClosedError",
    "SgiError",
    "StoreDamagedError",
    "StoreError",
    "TargetError",
    "TruncationWarning",
    "UnknownNameError",
    "UsageError",
]
