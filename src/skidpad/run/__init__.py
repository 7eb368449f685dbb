"""Running a vehicle: one in a loop, many at once, with derivatives, under uncertainty."""
