"""`python -m unruly` is `unruly`."""

from unruly.cli.main import main

main()
