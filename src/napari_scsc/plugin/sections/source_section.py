"""Source: which layers, what their axes mean, and what is shared between them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from magicgui.widgets import ComboBox
from napari.layers import Image
from qtpy.QtCore import QTimer, Signal
from qtpy.QtWidgets import QLabel, QWidget

from napari_scsc.data.axes import PRESETS, Axes, Role
from napari_scsc.data.axis_descriptions import describe_axes, explain_axes
from napari_scsc.data.image import wrap_image
from napari_scsc.data.kinds import apply_kind
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape
from napari_scsc.plugin import layers
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.sections.form_widgets import (
    Section,
    TextButton,
    make_label,
    make_row,
    show_field,
    stack,
)
from napari_scsc.plugin.sections.layer_picker import LayerPicker
from napari_scsc.plugin.wording import say

_WORDS: dict[Role, str] = {"shift": "together", "joint": "joined", "sample": "each by itself"}
_ROLES = {word: role for role, word in _WORDS.items()}
_MOST_AXES = 8


class Sharing(Enum):
    """What several layers have in common when they are restored."""

    NOTHING = "each by itself"
    FILTERS = "filters shared by all"
    CHANNELS = "together, as channels"


class SourceSection(Section):
    """The layers that are restored, the axes of the first, and what they share.

    The layer that is active in napari is ticked, until the user ticks others. A layer that is
    opened later is not, if it has the shape of one that is ticked: it may be a reference.
    ``changed`` comes whenever another layer is ticked, or what is known of it changes;
    ``others_changed`` when only layers came or went that are no sources, such as results.
    """

    changed = Signal()
    others_changed = Signal()

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._followed: dict[Any, list[Any]] = {}  # the events of each layer that is followed
        self._chosen: dict[str, Axes] = {}  # axes that the user corrected, by the id of the layer
        self._known: set[str] = set()  # ids of the layers that were there at the last look
        self._just_opened: set[str] = set()  # ids of those that select themselves
        self.picker = LayerPicker()
        self.picker.setAccessibleName("Image to restore")
        self.picker.picked.connect(self._refresh)
        image = QLabel("image")
        image.setBuddy(self.picker)
        self._about = make_label()
        self._about.setAccessibleName("What the image is")
        self.kind = ComboBox(
            label="kind",
            choices=["guess", *PRESETS],
            tooltip="What the axes mean. 'guess' reads the labels, name and shape of the layer.\n"
            "Axes that a kind does not have, such as time before a stack, are each by themselves",
        )
        self.kind.changed.connect(self._kind_changed)
        self._boxes = [self._axis_box(i) for i in range(_MOST_AXES)]
        self._edit = TextButton("edit")
        self._edit.setToolTip("Say what the axes are")
        self._edit.setAccessibleName("Edit the axes")
        self._edit.setCheckable(True)
        self._editor = QWidget()
        stack(self._editor, self.kind, *self._boxes)
        self._editor.hide()
        self._edit.toggled.connect(self._editor.setVisible)
        self._sharing = ComboBox(
            label="layers",
            choices=[one.value for one in Sharing],
            tooltip="Each by itself: filters of its own for every layer.\nFilters shared: learned "
            "once, from all of them.\nTogether: channels of one scene, whose structures are where "
            "the others' are; they need one shape",
        )
        self._sharing.changed.connect(lambda _value: self.changed.emit())
        self.fill(
            (image, self.picker), make_row(self._about, self._edit), self._editor, self._sharing
        )

    # --- for the dock ---------------------------------------------------------------------------

    def follow(self) -> None:
        """Listen to the viewer, until ``leave``."""
        events = self._viewer.layers.events
        for signal in (events.inserted, events.removed, events.reordered):
            signal.connect(self.list_layers)
        self._viewer.layers.selection.events.changed.connect(self._selection_changed)
        self.list_layers()
        self._refresh()  # without any layer, too: it says what to do

    def leave(self) -> None:
        """Listen to nothing any more."""
        events = self._viewer.layers.events
        for signal in (events.inserted, events.removed, events.reordered):
            signal.disconnect(self.list_layers)
        self._viewer.layers.selection.events.changed.disconnect(self._selection_changed)
        self._follow_each([])

    def ticked(self) -> list[Image]:
        """The ticked layers, in napari's order; UserError says what to do if there are none."""
        by_id = {str(layer.unique_id): layer for layer in self._viewer.layers}
        found = [by_id[layer_id] for layer_id in self.picker.ticked if layer_id in by_id]
        if not found:
            raise UserError(
                "tick an image layer"
                if self.picker.ids
                else "open an image first (Labels and Shapes are no images), or try "
                "File > Open Sample > napari-scsc"
            )
        return found

    @property
    def sources(self) -> list[str]:
        """Names of the ticked layers."""
        names = {str(layer.unique_id): layer.name for layer in self._viewer.layers}
        return [names[layer_id] for layer_id in self.picker.ticked if layer_id in names]

    @sources.setter
    def sources(self, names: list[str]) -> None:
        ids = {layer.name: str(layer.unique_id) for layer in self._images()}
        for name in names:
            if name not in ids:
                raise UserError(f"no image layer is called {name!r}: there are {sorted(ids)}")
        self.picker.tick({ids[name] for name in names})
        self._refresh()

    @property
    def sharing(self) -> Sharing:
        """What the layers have in common."""
        return Sharing(self._sharing.value)

    @sharing.setter
    def sharing(self, sharing: Sharing | str) -> None:
        self._sharing.value = Sharing(sharing).value

    def axes_of(self, layer: Image) -> Axes:
        """What the axes of a layer are; UserError says what has to be told."""
        shape = wrap_image(layer.data).shape
        chosen = self._chosen.get(str(layer.unique_id))
        if chosen is not None and len(chosen.labels) == len(shape):
            return chosen
        kind = self.kind.value
        if kind not in PRESETS:
            return layers.guess_axes(layer)
        found = _apply_kind(kind, layer)
        if found is None:
            raise UserError(
                f"a layer of the kind {kind} has the axes {', '.join(PRESETS[kind].labels)}, but "
                f"{layer.name} has {len(shape)} ({format_shape(shape)}): choose another kind"
            )
        return found

    @property
    def axes(self) -> Axes:
        """What the axes of the first ticked layer are."""
        return self.axes_of(self.ticked()[0])

    def problem(self) -> str:
        """Why nothing can be learned from or restored yet; empty if it can."""
        name = ""
        try:
            ticked = self.ticked()
            for layer in ticked:
                name = f"{layer.name}: " if len(ticked) > 1 else ""
                self.axes_of(layer)
        except (ValueError, TypeError) as error:
            return f"{name}{say(error)}"
        return ""

    def snapshot(self, layer: Image) -> layers.Snapshot:
        """A layer as it is now."""
        return layers.take_snapshot(layer, self.axes_of(layer))

    def snapshots(self) -> list[layers.Snapshot]:
        """The ticked layers as they are now."""
        return [self.snapshot(layer) for layer in self.ticked()]

    def first(self) -> tuple[Image, layers.Snapshot]:
        """The first ticked layer, and what it is now."""
        layer = self.ticked()[0]
        return layer, self.snapshot(layer)

    @property
    def about(self) -> str:
        """What is said of the first ticked layer."""
        return str(self._about.text())

    # --- layers ---------------------------------------------------------------------------------

    def _images(self) -> list[Image]:
        """The layers that can be restored, from top to bottom as napari lists them."""
        return [layer for layer in reversed(self._viewer.layers) if layers.is_image(layer)]

    @handler
    def list_layers(self, _event: Any = None) -> None:
        """Show the image layers that are there now, the ticked ones still ticked."""
        images = self._images()
        ids = [str(layer.unique_id) for layer in images]
        ticked = set(self.picker.ticked) & set(ids)
        for layer, layer_id in zip(reversed(images), reversed(ids), strict=True):
            if layer_id not in self._known and _becomes_target(layer, ticked, images):
                alike = layers.channels_of(layer, self._viewer.layers)
                ticked = {str(other.unique_id) for other in alike}
        if images and not ticked:
            ticked = {ids[0]}
        self._just_opened |= set(ids) - self._known
        self._known = set(ids)
        QTimer.singleShot(0, self._just_opened.clear)  # napari has selected it by then
        self._follow_each(list(self._viewer.layers))
        if ids == self.picker.ids and ticked == set(self.picker.ticked):
            self.others_changed.emit()
            return
        names = [(layer_id, x.name) for layer_id, x in zip(ids, images, strict=True)]
        self.picker.show_layers(names, ticked)
        self._refresh()

    @handler
    def _selection_changed(self, event: Any) -> None:
        """Tick what the user selects in napari; what was just opened selects itself."""
        selected = {str(x.unique_id) for x in self._viewer.layers.selection if layers.is_image(x)}
        added = {str(x.unique_id) for x in event.added}
        if selected and added and not added & self._just_opened:
            self.picker.tick(selected)
            self._refresh()

    def _follow_each(self, present: list[Any]) -> None:
        """Listen to these layers; to those that were followed before, it listens already."""
        for layer in [layer for layer in self._followed if layer not in present]:
            for event in self._followed.pop(layer):
                event.disconnect(self._layer_changed)
        for layer in present:
            if layer not in self._followed:
                events = [getattr(layer.events, name) for name in _followed(layer)]
                self._followed[layer] = events
                for event in events:
                    event.connect(self._layer_changed)

    @handler
    def _layer_changed(self, _event: Any = None) -> None:
        images = self._images()
        names = [(str(layer.unique_id), layer.name) for layer in images]
        self.picker.show_layers(names, set(self.picker.ticked))
        self._refresh()

    # --- axes -----------------------------------------------------------------------------------

    def _axis_box(self, position: int) -> ComboBox:
        box = ComboBox(
            label=f"axis {position}",
            choices=list(_ROLES),
            tooltip="together: filters slide along it (space, slow time); joined: they cover it "
            "whole (colours, bands, views); each by itself: positions that know nothing of each "
            "other (time points far apart, wells, channels of different structures)",
        )
        box.changed.connect(lambda word: self.attempt(lambda: self._correct(position, word)))
        return box

    @handler
    def _refresh(self) -> None:
        """Show the axes of the first ticked layer."""
        try:
            layer = self.ticked()[0]
            shape = wrap_image(layer.data).shape
            axes = self._axes_or_a_proposal(layer)
            count = len(self.ticked())
        except (ValueError, TypeError):  # no layer, or none of real numbers
            axes, shape, count = None, (), 0
        _offer_kinds(self.kind, None if axes is None else layer)
        roles = [] if axes is None else list(zip(axes.labels, axes.roles, strict=True))
        for position, box in enumerate(self._boxes):
            is_shown = position < len(roles)
            name = None
            if is_shown:
                label, role = roles[position]
                name = f"{label} ({shape[position]})"
                with box.changed.blocked():
                    box.value = _WORDS[role]
            show_field(box, is_shown, name)
        problem = self.problem()
        if problem or axes is None:
            self._about.setText(problem)
        else:
            what = f"{format_shape(shape)} · {describe_axes(axes, shape)}"
            several = f"\n{explain_axes(axes)}" if len(roles) > 2 else ""
            self._about.setText(what + several)
            self._about.setToolTip(str(wrap_image(layer.data).dtype))
        self._edit.setVisible(bool(roles))
        self._editor.setVisible(bool(roles) and self._edit.isChecked())
        show_field(self._sharing, count > 1)
        self.changed.emit()

    def _axes_or_a_proposal(self, layer: Image) -> Axes:
        try:
            return self.axes_of(layer)
        except ValueError:  # of a kind that it cannot be
            return layers.guess_axes(layer)

    @handler
    def _kind_changed(self, _value: Any = None) -> None:
        self._chosen.clear()
        self._refresh()

    def _correct(self, position: int, word: str) -> None:
        """Give an axis another role, in all ticked layers that have the same axes."""
        first = self.ticked()[0]
        axes = self._axes_or_a_proposal(first)
        if position >= len(axes.roles):  # the box of a layer that is gone
            raise UserError(f"{first.name} has {len(axes.roles)} axes: there is no axis {position}")
        roles = list(axes.roles)
        roles[position] = _ROLES[word]
        QTimer.singleShot(0, self._refresh)  # not while the box is still speaking
        corrected = Axes("custom", axes.labels, tuple(roles))
        if corrected.count("shift") > 3:
            raise UserError("filters slide along up to three axes: set another one aside first")
        for layer in self.ticked():
            if self._axes_or_a_proposal(layer).labels == axes.labels:
                self._chosen[str(layer.unique_id)] = corrected


def _followed(layer: Any) -> tuple[str, ...]:
    """Events of a layer that the dock shows: of masks and references their names."""
    return ("name", "data", "axis_labels") if layers.is_image(layer) else ("name",)


def _apply_kind(kind: str, layer: Image) -> Axes | None:
    """What a kind makes of the axes of a layer; None if it has too few of them."""
    shape = wrap_image(layer.data).shape
    labels = (*layer.axis_labels, "c") if layer.rgb else tuple(layer.axis_labels)
    return apply_kind(kind, len(shape), labels=labels, rgb=layer.rgb)


def _offer_kinds(box: ComboBox, layer: Image | None) -> None:
    """Let those kinds be chosen in a box that a layer can be."""
    model: Any = box.native.model()
    for row, kind in enumerate(box.choices):
        fits = layer is None or kind not in PRESETS or _apply_kind(kind, layer) is not None
        model.item(row).setEnabled(fits)


def _becomes_target(layer: Image, ticked: set[str], images: list[Image]) -> bool:
    """Whether a layer that was opened is restored instead of the ticked ones."""
    if not layers.shape_of(layer):
        return False  # it cannot be restored: a mask of truth values, most of the time
    targets = [x for x in images if str(x.unique_id) in ticked]
    if any(other in targets for other in layers.channels_of(layer, images)):
        return True  # one more channel of the scene
    return all(layers.shape_of(other) != layers.shape_of(layer) for other in targets)
