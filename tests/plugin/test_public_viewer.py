"""The dock on the viewer that plugins are promised: public names only, and one thread that writes.

napari warns of a private name, and raises at a layer that is changed from another thread. Warnings
are errors here.
"""

from __future__ import annotations

import pytest
from dock_tools import noisy_cells

pytestmark = pytest.mark.screen
TITLE = "Denoise and inpaint (napari-scsc)"


@pytest.fixture
def make_public_dock(make_napari_viewer_proxy, memory):
    """Open the dock on a viewer that hides what is private, as napari's menus hand it over."""
    import napari_scsc

    docks = []

    def make(*images, **looks):
        viewer = make_napari_viewer_proxy(show=False)
        docks.append(napari_scsc.open(*images, viewer=viewer, **looks)[1])
        return viewer, docks[-1]

    yield make
    for dock in docks:
        dock.stop()
        assert dock.wait(20)
        dock.close()


def run_command(name):
    """What a menu or the command palette does."""
    from napari._app_model import get_app_model

    get_app_model().commands.execute_command(f"napari-scsc.{name}").result()


def test_private_names_are_seen(make_napari_viewer_proxy):
    viewer = make_napari_viewer_proxy(show=False)
    with pytest.raises(FutureWarning, match="Private attribute access"):
        viewer.window._qt_viewer  # noqa: B018


def test_denoising_uses_public_names_only(make_public_dock):
    viewer, dock = make_public_dock(noisy_cells(), name="cells", scale=(0.5, 0.5))
    dock.quality = "fast"
    dock.residual = True
    dock.denoise()
    assert dock.wait(60)
    assert dock.result.name == "cells · denoised"
    assert list(dock.result.scale) == [0.5, 0.5]
    assert {"cells", "cells · denoised"} < {layer.name for layer in viewer.layers}


def test_filling_with_a_mask_uses_public_names_only(make_public_dock):
    image = noisy_cells()
    viewer, dock = make_public_dock(image, name="cells")
    holes = image * 0
    holes[20:24, 20:24] = 1
    dock.missing_layer = viewer.add_labels(holes, name="holes").name
    dock.inpaint()
    assert dock.wait(60)
    assert dock.result.name == "cells · filled"


def test_learning_and_the_preview_use_public_names_only(make_public_dock):
    viewer, dock = make_public_dock(noisy_cells(), name="cells")
    dock.learn()
    assert dock.wait(60)
    assert dock.bank is not None
    dock.quality = "fast"
    dock.preview = True
    viewer.scene.camera.zoom = 2  # the preview follows what is in view
    assert dock.wait(60)
    dock.preview = False
    assert [layer.name for layer in viewer.layers] == ["cells"]


def test_menu_and_script_open_the_same_dock(make_napari_viewer, memory, qtbot):
    import napari_scsc

    viewer = make_napari_viewer(show=False)
    run_command("dock")
    assert list(viewer.window.dock_widgets) == [TITLE]
    first = viewer.window.dock_widgets[TITLE]
    assert napari_scsc.open(viewer=viewer)[1] is first
    assert list(viewer.window.dock_widgets) == [TITLE]
    run_command("dock")  # hides it
    assert list(viewer.window.dock_widgets) == [TITLE]
    first.close()


def test_commands_of_the_menus_use_public_names_only(make_napari_viewer_proxy, memory):
    viewer = make_napari_viewer_proxy(show=False)
    viewer.add_image(noisy_cells(), name="cells")
    run_command("denoise")
    dock = viewer.window.dock_widgets[TITLE]
    assert dock.wait(60)
    assert dock.result.name == "cells · denoised"
    dock.close()
