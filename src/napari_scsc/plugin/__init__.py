"""The dock in napari: the only room that imports napari, magicgui, qtpy and pyqtgraph."""
