"""Metadata reads with consistency tokens: the draft under discussion, its readings and their fixes."""
