"""What a mechanism is: bodies, frames, joints and forces in a `System`. Immutable, without state."""
