"""``python -m napari_scsc.cli`` is the command line."""

from napari_scsc.cli import main

if __name__ == "__main__":
    main(prog_name="napari-scsc")
