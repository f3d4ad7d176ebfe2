"""Model files, import of other formats, result files. Loading never runs code."""
