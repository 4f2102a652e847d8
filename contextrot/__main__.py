"""``python -m contextrot``."""

from contextrot.cli import main

main()
