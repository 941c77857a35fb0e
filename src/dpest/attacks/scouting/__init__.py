"""Where a leak may be: pairs around the numbers of the code, ranked by a few coupled runs."""
