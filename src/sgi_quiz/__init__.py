"""Make questions from documents: ``sgi quiz``."""
