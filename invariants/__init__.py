"""Properties of the protocols, the claims that they are about, and the runs that decide them."""
