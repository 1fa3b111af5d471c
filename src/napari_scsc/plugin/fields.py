"""The fields of the dock as its attributes, and what the next session begins with."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from qtpy.QtCore import QTimer

from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.part_attribute import PartAttribute
from napari_scsc.plugin.preferences import keep_fields, read_fields

# Noise, strength and masks belong to the data.
REMEMBERED = (
    "effort",
    "model",
    "n_base",
    "filter_size",
    "n_filters",
    "sparsity",
    "ball",
    "passes",
    "seed",
    "quality",
    "method",
    "residual",
)


class Field(PartAttribute):
    """A field of a section as an attribute of the dock: its value is read and set."""

    def __get__(self, dock: Any, _owner: type | None = None) -> Any:
        return self if dock is None else self.widget(dock).value

    def __set__(self, dock: Any, value: Any) -> None:
        self.widget(dock).value = value

    def widget(self, dock: Any) -> Any:
        """The field itself."""
        return super().__get__(dock)


def fields_of(dock: Any) -> dict[str, Field]:
    """Every field of a dock, by its name."""
    return {name: field for name, field in vars(type(dock)).items() if isinstance(field, Field)}


class FieldMemory:
    """Keeps fields for the next session: a second after one was changed, and when told to."""

    def __init__(self, dock: Any) -> None:
        self._dock = dock
        self._first_values = {name: getattr(dock, name) for name in fields_of(dock)}
        self._soon = QTimer(dock)
        self._soon.setSingleShot(True)
        self._soon.setInterval(1000)
        self._soon.timeout.connect(self.keep)
        for name, field in fields_of(dock).items():
            if name in REMEMBERED:
                field.widget(dock).changed.connect(lambda _value: self._soon.start())

    def reset(self) -> None:
        """Set every field to what it was at first."""
        for name, value in self._first_values.items():
            setattr(self._dock, name, value)

    @handler
    def keep(self) -> None:
        """Write the fields as they are."""
        keep_fields({name: getattr(self._dock, name) for name in REMEMBERED})

    def bring_back(self) -> None:
        """Set the fields as they were left."""
        for name, value in read_fields().items():
            if name in REMEMBERED:
                with suppress(Exception):  # the file may be of another version, or broken
                    setattr(self._dock, name, value)
