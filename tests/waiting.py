"""How long tests wait for what must come.

No test says how fast anything is: it waits for a condition, and fails when nothing comes at all.
"""

from __future__ import annotations

PATIENCE = 300.0
"""In s. Machines that run tests may be slow, and busy with other things."""
