"""Random walks and given schedules on compiled machines."""
