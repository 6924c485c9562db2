"""`python -m whysync`."""

import sys

from whysync.cli.main import main

sys.exit(main())
