"""Properties of the protocols, claims about them, and the runs that decide these claims."""
