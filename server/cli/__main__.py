"""`python -m server.cli`: the same as `ringmt`."""

import sys

from server.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
