"""Views: pages and tables for a terminal, and progress while a command runs."""
