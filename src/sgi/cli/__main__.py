"""``python -m sgi.cli``."""

from sgi.cli.main import main

main()
