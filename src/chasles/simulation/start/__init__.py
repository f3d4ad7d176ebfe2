"""Where a run starts: values that are held, the rest that is found, and what looks like a mistake."""
