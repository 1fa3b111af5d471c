"""The filters that the dock restores with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_scsc.data.axes import Axes
from napari_scsc.io import readers
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin import layers, recipes


class Filters(QObject):
    """A filter bank or none yet, the lines of a script that make it, and the plots that show it.

    ``changed`` comes with every other bank, ``told`` with words on where it came from or went.
    """

    changed = Signal()
    told = Signal(str)

    def __init__(self, plots: Any, parent: QObject) -> None:
        super().__init__(parent)
        self.bank: FilterBank | None = None
        self._lines: list[str] = []
        self._names: dict[str, str] = {}  # of the layers in these lines, by their ids
        self._plots = plots

    def take(
        self,
        bank: FilterBank | None,
        lines: list[str],
        learned: bool = False,
        names: dict[str, str] | None = None,
    ) -> None:
        """Restore with these from now on; if they were just learned, the plots have followed.

        ``names`` are those of the layers that the lines speak of, by their ids.
        """
        self.bank, self._lines, self._names = bank, lines, names or {}
        if bank is None:
            self._plots.clear()
        elif not learned:
            labels = readers.filter_labels(bank)[1:]
            self._plots.show_bank(bank.filters, bank.n_joint, labels, weights=bank.weights)
        self.changed.emit()

    def lines(self, viewer_layers: Any) -> list[str]:
        """The lines of a script that make them, with the layers as they are called by now."""
        present = {str(layer.unique_id): layer.name for layer in viewer_layers}
        found = self._lines
        for own, old in self._names.items():
            new = present.get(own, old)
            found = [x.replace(f"viewer.layers[{old!r}]", f"viewer.layers[{new!r}]") for x in found]
        return found

    def take_from(self, layer: Any) -> None:
        """Take the bank that a layer shows, such as one dropped on the viewer, if it shows one."""
        bank = layers.bank_of(layer)
        if bank is not None and (self.bank is None or bank.id != self.bank.id):
            where = f"viewer.layers[{layer.name!r}].metadata[{layers.OURS!r}]['bank']"
            self.take(bank, [f"bank = {where}"])
            self.told.emit(f"{bank.n_base} filters from {layer.name}")

    def save(self, path: str | Path) -> None:
        """Write them to a file."""
        if self.bank is None:
            raise ValueError("there are no filters yet: learn some first")
        self.bank.save(path)
        self.told.emit(f"{self.bank.n_base} filters saved as {Path(path).name}")

    def load(self, path: str | Path) -> None:
        """Read them from a file."""
        bank = FilterBank.load(path)
        self.take(bank, [f"bank = FilterBank.load({str(path)!r})"])
        self.told.emit(f"{bank.n_base} filters loaded from {Path(path).name}")

    def fit(self, source: layers.Snapshot) -> bool:
        """Whether they are there, and for images of that kind."""
        return self.bank is not None and recipes.fits(self.bank, source)

    def name_axes(self, axes: Axes) -> None:
        """Let the plots name the axes of what is learned: the joint ones, then the shift ones."""
        pairs = list(zip(axes.labels, axes.roles, strict=True))
        joint, shift = ([n for n, r in pairs if r == role] for role in ("joint", "shift"))
        self._plots.set_axes(len(joint), [*joint, *shift])
