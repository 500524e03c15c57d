"""Mutants of the engines: one small change in a source file each, and whether tests kill them."""
