"""What must hold, where that is written, and the runs that give a verdict on it."""
