"""`python -m chasles`."""

from chasles.cli import main

main()
