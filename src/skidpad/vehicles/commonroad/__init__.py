"""CommonRoad's vehicles: the models of commonroad-control and of commonroad-vehicle-models."""
