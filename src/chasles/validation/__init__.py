"""Benchmark problems with known answers: published numbers and closed forms, computed again and compared.

`chasles validate` prints the board. A problem is a function that returns `KnownValue`s (`board`); the problems are in

- `published`: numbers that others have printed;
- `classical_motions`: motions of toys and textbooks, by quadratures and conserved quantities;
- `spatial_mechanisms`: robots and linkages in space, by published digits and reduced equations;
- `tops`: free bodies and tops, by elliptic functions and published digits;
- `linkages`: closed loops and machine elements, by closed forms;
- `oscillations`: frequencies, friction, impacts;
- `elastic_rods`: rods.
"""
