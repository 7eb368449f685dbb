"""Powertrains: their interface to a vehicle (`contract`) and their parts.

`skidpad.vehicles.parts` exports the parts.
"""
