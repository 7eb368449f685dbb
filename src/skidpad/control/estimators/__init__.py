"""Estimators of a vehicle's state and parameters, from the same equations that simulate it."""
