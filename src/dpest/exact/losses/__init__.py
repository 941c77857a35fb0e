"""Two output distributions side by side: the exact privacy loss and its other measures."""
