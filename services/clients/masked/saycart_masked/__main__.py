"""`python -m saycart_masked`."""

from .check import main

main()
