"""Laws of forces and drives looked at alone: where they change with time, and which one gave no number."""
