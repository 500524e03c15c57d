"""The findings that clusters reproduce, a file each; a scenario reads as a story."""
