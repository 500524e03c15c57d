"""Real clients against a scripted cluster that follows histories of leader discovery."""
