"""Source: which layers, what their axes mean, and what it will cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from magicgui.widgets import ComboBox
from napari.layers import Image
from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtWidgets import QListWidget, QListWidgetItem

from napari_scsc.data.axes import PRESETS, Axes, Role
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape
from napari_scsc.plugin import layers
from napari_scsc.plugin.cost import cost_words, describe, find_cost
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.sections.form_widgets import Fold, Section, make_label, show_field
from napari_scsc.plugin.wording import say
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.restore.quality import Quality

_WORDS: dict[Role, str] = {"shift": "slide", "joint": "span", "sample": "separate"}
_VERBS: dict[Role, str] = {"shift": "slide", "joint": "spanned", "sample": "separate"}
_ROLES = {word: role for role, word in _WORDS.items()}
_MOST_AXES = 6
_MOST_ROWS = 5  # of the list; more are scrolled to


class SourceSection(Section):
    """The list of layers, the kind of the first ticked one, and the roles of its axes.

    ``changed`` comes whenever another layer is ticked, or what is known of it changes;
    ``others_changed`` when only layers came or went that are no sources, such as results.
    """

    changed = Signal()
    others_changed = Signal()

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._followed: list[Any] = []
        self._chosen: dict[str, Axes] = {}  # axes that the user corrected, by the id of the layer
        # The stubs of PyQt6 say that an item may be None; it is asked for by number here.
        self._list: Any = QListWidget()
        self._list.setToolTip(
            "Tick the layers to learn from; the first ticked one is the one that is restored"
        )
        self._list.setAccessibleName("Layers to learn from")
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._by_hand = False  # whether the user ticked; until then the newest image is meant
        self._list.itemChanged.connect(self._ticked_by_hand)
        self.kind = ComboBox(
            label="kind",
            choices=["guess", *PRESETS],
            tooltip="What the axes mean. 'guess' reads the labels, name and shape of the layer",
        )
        self.kind.changed.connect(self._kind_changed)
        self._boxes = [self._axis_box(i) for i in range(_MOST_AXES)]
        self._axes_fold = Fold("axes", *self._boxes)
        self._about = make_label()
        self.fill(self._list, self.kind, self._axes_fold, self._about)

    # --- for the dock ---------------------------------------------------------------------------

    def follow(self) -> None:
        """Listen to the viewer, until ``leave``."""
        events = self._viewer.layers.events
        for signal in (events.inserted, events.removed, events.reordered):
            signal.connect(self.list_layers)
        self.list_layers()

    def leave(self) -> None:
        """Listen to nothing any more."""
        events = self._viewer.layers.events
        for signal in (events.inserted, events.removed, events.reordered):
            signal.disconnect(self.list_layers)
        self._follow_each([])

    def ticked(self) -> list[Image]:
        """The ticked layers; UserError says what to do if there are none."""
        by_id = {str(layer.unique_id): layer for layer in self._viewer.layers}
        found = [
            by_id[layer_id]
            for layer_id, item in self._items()
            if _is_ticked(item) and layer_id in by_id
        ]
        if not found:
            raise UserError(
                "tick an image layer under Source"
                if self._list.count()
                else "open an image first (Labels and Shapes are no images), or try "
                "File > Open Sample > napari-scsc"
            )
        return found

    @property
    def sources(self) -> list[str]:
        """Names of the ticked layers."""
        names = {str(layer.unique_id): layer.name for layer in self._viewer.layers}
        return [
            names[layer_id]
            for layer_id, item in self._items()
            if _is_ticked(item) and layer_id in names
        ]

    @sources.setter
    def sources(self, names: list[str]) -> None:
        known = {item.text() for _, item in self._items()}
        for name in names:
            if name not in known:
                raise UserError(f"no image layer is called {name!r}: there are {sorted(known)}")
        for _, item in self._items():
            state = Qt.CheckState.Checked if item.text() in names else Qt.CheckState.Unchecked
            item.setCheckState(state)
        self._by_hand = True  # also if they were ticked already

    def axes_of(self, layer: Image) -> Axes:
        """What the axes of a layer are; UserError says what has to be told."""
        shape = wrap_image(layer.data).shape
        chosen = self._chosen.get(str(layer.unique_id))
        if chosen is not None and len(chosen.labels) == len(shape):
            return chosen
        preset = PRESETS.get(self.kind.value)
        if preset is None:
            found = layers.guess_axes(layer)
            if found.count("shift") > 3:
                raise UserError(
                    f"filters slide along up to three axes, and {layer.name} has "
                    f"{', '.join(found.labels)}: set one of them to separate or span"
                )
            return found
        if len(preset.labels) != len(shape):
            raise UserError(
                f"a layer of the kind {preset.kind} has the axes {', '.join(preset.labels)}, but "
                f"{layer.name} has {len(shape)} ({format_shape(shape)}): choose another kind"
            )
        return preset

    @property
    def axes(self) -> Axes:
        """What the axes of the layer that is restored are."""
        return self.first()[1].axes

    def problem(self) -> str:
        """Why nothing can be learned from or restored yet; empty if it can."""
        try:
            for layer in self.ticked():
                self.axes_of(layer)
        except (ValueError, TypeError) as error:
            return say(error)
        return ""

    def snapshots(self) -> list[layers.Snapshot]:
        """The ticked layers as they are now."""
        return [layers.take_snapshot(layer, self.axes_of(layer)) for layer in self.ticked()]

    def first(self) -> tuple[Image, layers.Snapshot]:
        """The layer that is restored, and what it is now."""
        layer = self.ticked()[0]
        return layer, layers.take_snapshot(layer, self.axes_of(layer))

    def show_cost(
        self, task: RestoreTask, quality: Quality, method: str, wishes: Preferences
    ) -> None:
        """Say what the first ticked layer is, and what restoring it takes."""
        problem = self.problem()
        if problem:
            self._about.setText(problem)
            return
        _, source = self.first()
        cost = find_cost(source, task, quality, method, wishes)
        words = cost_words(cost)
        self._about.setText(f"{describe(source)}\n{words}")

    @property
    def about(self) -> str:
        """What is said of the first ticked layer."""
        return str(self._about.text())

    # --- layers ---------------------------------------------------------------------------------

    def list_layers(self, _event: Any = None) -> None:
        """Show the image layers that are there now, the ticked ones still ticked."""
        ticked = {layer_id for layer_id, item in self._items() if _is_ticked(item)}
        images = [
            layer
            for layer in self._viewer.layers
            if isinstance(layer, Image) and not layers.is_ours(layer)
        ]
        ids = [str(layer.unique_id) for layer in images]
        if not ticked & set(ids) or not self._by_hand:
            self._by_hand = False
            ticked = set(ids[-1:])
        if ids and ids == [layer_id for layer_id, _ in self._items()]:
            self._follow_each(list(self._viewer.layers))
            self.others_changed.emit()
            return
        self._list.blockSignals(True)
        self._list.clear()
        for layer, layer_id in zip(images, ids, strict=True):
            item = QListWidgetItem(layer.name)
            item.setToolTip(layer.name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setData(Qt.ItemDataRole.UserRole, layer_id)
            is_ticked = layer_id in ticked
            item.setCheckState(Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked)
            self._list.addItem(item)
        self._list.blockSignals(False)
        rows = min(len(images), _MOST_ROWS)
        self._list.setFixedHeight(rows * self._list.sizeHintForRow(0) + 2 * self._list.frameWidth())
        self._list.setVisible(rows > 0)
        self._follow_each(list(self._viewer.layers))
        self._refresh()

    def _ticked_by_hand(self, _item: Any = None) -> None:
        self._by_hand = True
        self._refresh()

    def _follow_each(self, images: list[Any]) -> None:
        for event in self._followed:
            event.disconnect(self._layer_changed)
        self._followed = [getattr(x.events, name) for x in images for name in _followed(x)]
        for event in self._followed:
            event.connect(self._layer_changed)

    def _layer_changed(self, _event: Any = None) -> None:
        names = {str(layer.unique_id): layer.name for layer in self._viewer.layers}
        self._list.blockSignals(True)
        for layer_id, item in self._items():
            item.setText(names.get(layer_id, item.text()))
            item.setToolTip(item.text())
        self._list.blockSignals(False)
        self._refresh()

    def _items(self) -> Iterator[tuple[str, Any]]:
        for i in range(self._list.count()):
            item = self._list.item(i)
            yield item.data(Qt.ItemDataRole.UserRole), item

    # --- axes -----------------------------------------------------------------------------------

    def _axis_box(self, position: int) -> ComboBox:
        box = ComboBox(
            label=f"axis {position}",
            choices=list(_ROLES),
            tooltip="slide: filters move along it (space, slow time); span: they cover it whole "
            "(colours, bands, views); separate: each position is restored by itself (wells, "
            "positions, unrelated planes)",
        )
        box.changed.connect(lambda word: self._correct(position, word))
        return box

    def _refresh(self, _item: Any = None) -> None:
        """Show the axes of the first ticked layer."""
        try:
            axes = self._axes_or_a_proposal(self.ticked()[0])
        except (ValueError, TypeError):  # no layer, or none of real numbers
            axes = None
        roles = [] if axes is None else list(zip(axes.labels, axes.roles, strict=True))
        for position, box in enumerate(self._boxes):
            if position < len(roles):
                name, role = roles[position]
                with box.changed.blocked():
                    box.value = _WORDS[role]
                show_field(box, True, name)
            else:
                show_field(box, False)
        self._axes_fold.title = f"axes: {_in_short(roles)}"
        self._axes_fold.setVisible(bool(roles))
        self.changed.emit()

    def _axes_or_a_proposal(self, layer: Image) -> Axes:
        shape = wrap_image(layer.data).shape
        try:
            axes = self.axes_of(layer)
        except ValueError:
            return layers.fallback_axes(shape, layer.rgb)
        return axes if len(axes.labels) == len(shape) else layers.fallback_axes(shape, layer.rgb)

    def _kind_changed(self, _value: Any = None) -> None:
        self._chosen.clear()
        self._refresh()

    def _correct(self, position: int, word: str) -> None:
        layer = self.ticked()[0]
        axes = self._axes_or_a_proposal(layer)
        roles = list(axes.roles)
        roles[position] = _ROLES[word]
        try:
            self._chosen[str(layer.unique_id)] = Axes("custom", axes.labels, tuple(roles))
        except ValueError as error:
            self.failed.emit(error)
        QTimer.singleShot(0, self._refresh)  # not while the box is still speaking


def _followed(layer: Any) -> tuple[str, ...]:
    """Events of a layer that the dock shows: of masks and references their names."""
    is_source = isinstance(layer, Image) and not layers.is_ours(layer)
    return ("name", "data", "axis_labels") if is_source else ("name",)


def _in_short(roles: list[tuple[str, Role]]) -> str:
    """What the axes are, in as few words as can be: y, x slide; c spanned."""
    alike = {role: [name for name, r in roles if r == role] for role in _VERBS}
    return "; ".join(f"{', '.join(names)} {_VERBS[r]}" for r, names in alike.items() if names)


def _is_ticked(item: Any) -> bool:
    return bool(item.checkState() == Qt.CheckState.Checked)
