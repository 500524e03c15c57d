"""What people see: pages, tables, and what goes on while a command runs."""
