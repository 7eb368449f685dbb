"""CommonRoad's vehicles: those of commonroad-control and of commonroad-vehicle-models."""
