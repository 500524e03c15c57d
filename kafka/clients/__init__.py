"""Tests of real clients against a scripted cluster that plays histories of leader discovery."""
