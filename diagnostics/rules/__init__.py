"""One file a rule, named by its slug; nothing else."""
