"""Views: pages and tables for a terminal, and progress of a running command."""
