"""``python -m sgi``."""

from sgi.cli.main import main

main()
