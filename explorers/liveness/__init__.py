"""What must happen in the end, and what it may cost: properties of whole behaviours, on the graph of all states."""
