"""How things are shown to people: text and HTML tables, progress, the style of figures. Knows nothing of mechanisms."""
