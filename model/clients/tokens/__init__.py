"""Metadata reads with consistency tokens: the draft under discussion, ways to read it, and fixes."""
