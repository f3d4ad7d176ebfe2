"""Result files: a run in one HDF5 file."""
