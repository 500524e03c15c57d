"""The findings that clusters reproduce, one file each; a scenario reads like a story."""
