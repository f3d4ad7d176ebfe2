"""Motion beyond accelerations: derivatives of twists, Jacobians and forces of any order, and closed forms."""
