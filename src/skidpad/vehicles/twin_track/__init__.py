"""Cars with four wheels that spin: `two_track`, and `full_car` with a sprung body on top."""
