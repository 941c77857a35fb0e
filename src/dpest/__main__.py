"""`python -m dpest` is the command `dpest`."""

from dpest.cli import main

main()
