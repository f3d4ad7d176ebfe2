"""Forces on bodies, interpreted from a table; the same for joint and absolute coordinates."""
