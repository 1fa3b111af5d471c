"""Files in and out of napari: filter banks, folders of bands or views, cubes and videos."""
