"""Properties of the protocols, the claims about them, and the runs that decide those."""
