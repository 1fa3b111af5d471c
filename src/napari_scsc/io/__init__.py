"""Files: formats that are opened, stores that results are written to, and layers of napari."""
