"""Many simulations of one model with other parameters: sweeps, random samples, statistics, sensitivity indices.

distribution    distributions by name; each maps points of the unit cube to values
design          which members there are: grids, samples (random, Latin hypercube, Sobol, Halton), tables
quantity        what is kept of each run: a reduction of a quantity by name, "max(joints.elbow)"
work            one member: parameters in, numbers out
modes           whether members of a linkage start in the assembly mode of the model file
executor        members on lanes and threads, in processes, on a cluster of dask
journal         what is finished, safe at every moment; `study_file`: the file of a whole study
ensemble        `ensemble`, which puts these together; `result`: what comes out, with statistics and tables
indices         sensitivity indices of Sobol; `plot`: pictures of an ensemble
"""
