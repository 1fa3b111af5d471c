"""The filters that the dock restores with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_scsc.data.axes import Axes
from napari_scsc.errors import UserError
from napari_scsc.io.layers import filter_labels
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin import layers
from napari_scsc.plugin.plots import Plots
from napari_scsc.plugin.requests import bank_fits
from napari_scsc.plugin.script import with_present_names


class BankHolder(QObject):
    """A filter bank or none yet, the lines of a script that make it, and the plots that show it.

    ``changed`` comes with every other bank, ``told`` with words on where it came from or went.
    """

    changed = Signal()
    told = Signal(str)

    def __init__(self, plots: Plots, parent: QObject) -> None:
        super().__init__(parent)
        self._bank: FilterBank | None = None
        self._lines: list[str] = []
        self._names: dict[str, str] = {}  # of the layers in these lines, by their ids
        self._is_chosen = False
        self.path: str | None = None
        """The file that they are in, if they are in one."""
        self.has_unsaved = False
        """Whether there are filters that are in no file."""
        self._plots = plots

    @property
    def bank(self) -> FilterBank | None:
        """The filters that restore; None until some were learned or loaded."""
        return self._bank

    @bank.setter
    def bank(self, bank: FilterBank | None) -> None:
        self._show(bank, ["bank = dock.bank"])

    def take_learned(
        self,
        bank: FilterBank,
        lines: list[str],
        sources: Iterable[layers.Snapshot],
        is_chosen: bool = True,
    ) -> None:
        """Restore with filters that were just learned: the plots have followed already.

        ``lines`` learn them again; they speak of the layers ``sources``. Those that a restoration
        has learned on its way, which nobody has chosen, restore no other layers.
        """
        names = {source.layer_id: source.name for source in sources}
        self._bank, self._lines, self._names = bank, lines, names
        self._is_chosen, self.has_unsaved, self.path = is_chosen, True, None
        self.changed.emit()

    @property
    def learned_from(self) -> frozenset[str]:
        """Ids of the layers that they were learned from, as far as that is known."""
        return frozenset(self._names)

    def lines(self, viewer_layers: Any) -> list[str]:
        """The lines of a script that make them, with the layers as they are called by now."""
        ids = {name: layer_id for layer_id, name in self._names.items()}
        return [with_present_names(line, ids, viewer_layers) for line in self._lines]

    def take_from(self, layer: Any) -> None:
        """Take the bank that a layer shows, such as one dropped on the viewer, if it shows one."""
        bank = layers.bank_of(layer)
        if bank is not None and (self.bank is None or bank.id != self.bank.id):
            where = f"viewer.layers[{layer.name!r}].metadata[{layers.OURS!r}]['bank']"
            self._show(bank, [f"bank = {where}"])
            self.told.emit(f"{bank.n_base} filters from {layer.name}")

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write them to a file."""
        if self.bank is None:
            raise UserError("there are no filters yet: learn some first")
        self.bank.save(path, overwrite=overwrite)
        self.has_unsaved, self.path = False, str(path)
        self.told.emit(f"{self.bank.n_base} filters saved as {Path(path).name}")

    def load(self, path: str | Path) -> None:
        """Read them from a file."""
        bank = FilterBank.load(path)
        self._show(bank, [f"bank = FilterBank.load({str(path)!r})"])
        self.path = str(path)
        self.told.emit(f"{bank.n_base} filters loaded from {Path(path).name}")

    @property
    def chosen(self) -> FilterBank | None:
        """The filters, if the user has learned or loaded them for whatever comes."""
        return self.bank if self._is_chosen else None

    def bank_for(self, source: layers.Snapshot) -> FilterBank | None:
        """The filters, if they are for such images, and were chosen or are its own."""
        bank = self.bank
        if bank is None or not bank_fits(bank, source):
            return None
        return bank if self._is_chosen or source.layer_id in self._names else None

    def name_axes(self, axes: Axes) -> None:
        """Let the plots name the axes of what is learned: the joint ones, then the shift ones."""
        pairs = list(zip(axes.labels, axes.roles, strict=True))
        joint, shift = ([n for n, r in pairs if r == role] for role in ("joint", "shift"))
        self._plots.set_axes(len(joint), [*joint, *shift])

    def _show(self, bank: FilterBank | None, lines: Sequence[str]) -> None:
        """Restore with filters from elsewhere, or with none, and have the plots show them."""
        self._bank, self._lines, self._names, self._is_chosen = bank, list(lines), {}, True
        self.has_unsaved, self.path = False, None
        if bank is None:
            self._plots.clear()
        else:
            labels = filter_labels(bank)[1:]
            self._plots.show_bank(bank.filters, bank.n_joint, labels, weights=bank.weights)
        self.changed.emit()
