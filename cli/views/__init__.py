"""Pages and tables for a terminal, and the progress of a running command."""
