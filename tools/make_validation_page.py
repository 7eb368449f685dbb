"""Writes docs/validation.md: numbers of skidpad beside numbers that are not its own.

python tools/make_validation_page.py     # writes it; fails if a row is outside of its tolerance

The rows are those of tests/validation/rows, beside the readers of the recordings.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from validation.rows.row import texts
from validation.rows.table import CHECKS, PAGE, page, rows_of


def main() -> int:
    """Compute all rows and write the page."""
    parts = rows_of(CHECKS)
    PAGE.write_text(page(parts), "utf-8")
    rows = [row for part in parts.values() for row in part]
    outside = [row for row in rows if not row.good]
    for row in outside:
        print(" | ".join(texts(row)))
    print(f"{len(rows) - len(outside)} of {len(rows)} rows are within their tolerance: {PAGE}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
