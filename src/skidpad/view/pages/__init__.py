"""HTML pages: replays, reports and pages that drive a vehicle."""
