"""The certificate: an independent second motion, what an exact one keeps, and the verdict on a run."""
