"""Joint coordinates: kinematics and dynamics of trees, O(n), one algorithm a file."""
