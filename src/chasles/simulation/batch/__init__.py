"""Many runs of one model at once: what each is given, on lanes or threads, one step at a time."""
