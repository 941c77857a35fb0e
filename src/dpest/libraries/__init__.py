"""Released privacy libraries, audited in the open: rows, runs, and the table of what was found."""
