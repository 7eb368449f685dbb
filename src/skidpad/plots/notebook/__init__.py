"""What notebooks show of objects: tables, and drawings as SVG."""
