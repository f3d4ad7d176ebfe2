"""Drawing solids into an image, in software: triangles, light, shadow and ground."""
