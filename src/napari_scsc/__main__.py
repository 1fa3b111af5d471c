"""``python -m napari_scsc`` is the command line."""

from napari_scsc.cli import main

main(prog_name="napari-scsc")
