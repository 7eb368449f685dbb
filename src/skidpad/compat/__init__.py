"""Programs that skidpad stands in for, each behind the interface its users know."""
