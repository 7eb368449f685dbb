"""Powertrains: what one is to a vehicle (`contract`), and the parts that they are made of.

`skidpad.vehicles.parts` offers the parts."""
