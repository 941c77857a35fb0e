"""Numbers of events, and the saddle point of their masses."""
