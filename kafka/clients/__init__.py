"""Tests of real clients. A scripted cluster plays histories of leader discovery to the clients."""
