"""``python -m topo``: the command line."""

import sys

from topo.cli import main

if __name__ == "__main__":
    sys.exit(main())
