"""What a world file describes, as plain data."""
