"""The compiled layer: one compilation policy, SIMD lanes, tuple algebra, elementary functions, batches."""
