"""The faults that the wiring tests put into good fabrics are used here too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "wiring"))
