"""Floor 4: the session loop, the matrix, the retry layer and the run directory."""
