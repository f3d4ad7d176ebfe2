"""Matplotlib for a command, which draws once and ends."""

from __future__ import annotations


def load_matplotlib() -> None:
    """Load it without the lists of properties that it writes into its docstrings, a third of its import."""
    import matplotlib.artist as artist

    if not hasattr(artist, "kwdoc"):  # another version: it loads as it likes
        return
    own, artist.kwdoc = artist.kwdoc, lambda artist: ""
    try:
        import matplotlib.figure  # noqa: F401 (with all that draws)
    finally:
        artist.kwdoc = own
