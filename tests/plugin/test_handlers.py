"""Every handler of the dock goes through one door: errors are told, and the dock stays usable."""

from __future__ import annotations

import ast
import logging
from collections import defaultdict
from pathlib import Path

import pytest
from dock_tools import errors_raised, finish, is_ready, noisy_cells

from napari_scsc import plugin
from napari_scsc.errors import UserError
from napari_scsc.plugin.handlers import handler, tell

ROOT = Path(plugin.__file__).parent
TREES = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Of Qt and Python: they run nothing of ours that is no handler itself.
NOT_OURS = {"cancel", "clear", "setChecked", "setCurrentIndex", "setVisible", "setDefaultSuffix"}
# What a lambda may do.
DOORS = {"attempt", "emit", "start", "setDefaultSuffix"}
# It is where all errors go, and cannot send its own there.
THE_DOOR = {"fail"}
# What Qt calls in a widget. Not painting: what is told is painted too, and would fail again.
OVERRIDDEN = {"eventFilter", "event", "stepBy"}


def is_handler(function):
    return any(isinstance(d, ast.Name) and d.id == "handler" for d in function.decorator_list)


def methods():
    """Every method with its file, its class and itself."""
    for path, tree in TREES.items():
        for owner in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
            for node in owner.body:
                if isinstance(node, FUNCTIONS):
                    yield path, owner, node


def names_of_signals():
    found = set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            made_by = getattr(getattr(node, "value", None), "func", None)
            if isinstance(node, ast.Assign) and getattr(made_by, "id", "") == "Signal":
                found |= {target.id for target in node.targets}
    return found


def slots_in(tree):
    """What is connected, called later, or put into a list of callbacks."""
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        functions = [call.func]
        if isinstance(call.func, ast.IfExp):  # (signal.connect if yes else signal.disconnect)(slot)
            functions = [call.func.body, call.func.orelse]
        names = {getattr(function, "attr", "") for function in functions}
        if names & {"connect", "singleShot", "bind_key"}:
            yield call.args[-1]
        elif "append" in names and "callbacks" in ast.unparse(call.func):
            yield call.args[0]


def problem_of(slot, owner, by_name, signals):
    """Why a slot does not go through the door; empty if it does."""
    if isinstance(slot, ast.Constant):  # it is taken away
        return ""
    if isinstance(slot, ast.Lambda):
        called = slot.body.func if isinstance(slot.body, ast.Call) else slot.body
        return "" if getattr(called, "attr", "") in DOORS else "a lambda that attempts nothing"
    name = slot.attr if isinstance(slot, ast.Attribute) else slot.id
    if name in signals | NOT_OURS | THE_DOOR:
        return ""
    if ast.unparse(slot) == f"self.{name}" and owner is not None:
        own = [node for node in owner.body if isinstance(node, FUNCTIONS) and node.name == name]
        return "" if own and all(map(is_handler, own)) else "no handler"
    defined = by_name[name]
    if len(defined) != 1:
        return "which one is meant cannot be told: make a method of its own that is a handler"
    return "" if is_handler(defined[0]) or name.startswith("_get_ready") else "no handler"


def test_whatever_is_connected_goes_through_the_door():
    by_name, signals = defaultdict(list), names_of_signals()
    for tree in TREES.values():
        for node in [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]:
            by_name[node.name].append(node)
    found, count = [], 0
    for path, tree in TREES.items():
        if path.name == "demo.py":  # a program of its own
            continue
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for slot in slots_in(tree):
            owner = next((c for c in classes if c.lineno <= slot.lineno <= c.end_lineno), None)
            if isinstance(slot, ast.Name) and slot.id in ("slot", "button"):
                continue  # of a loop over pairs, which the next test looks at
            count += 1
            problem = problem_of(slot, owner, by_name, signals)
            if problem:
                found.append(
                    f"{path.relative_to(ROOT)}:{slot.lineno} {ast.unparse(slot)}: {problem}"
                )
    assert count > 100  # it has looked at them
    assert not found, "\n".join(found)


def test_slots_in_loops_over_pairs_go_through_the_door():
    found, count = [], 0
    for path, owner, method in methods():
        if method.name != "_connect" or path.name == "dock.py":
            continue
        handlers = {
            node.name for node in owner.body if isinstance(node, FUNCTIONS) and is_handler(node)
        }
        for pair in [node for node in ast.walk(method) if isinstance(node, ast.Tuple)]:
            last = pair.elts[-1]
            if isinstance(last, ast.Attribute) and ast.unparse(last) == f"self.{last.attr}":
                count += 1
                if last.attr not in handlers:
                    found.append(f"{path.name}:{last.lineno} {last.attr}")
    assert count >= 7
    assert not found, "\n".join(found)


def test_whatever_qt_calls_in_a_widget_goes_through_the_door():
    found = [
        f"{path.relative_to(ROOT)}:{method.lineno} {method.name}"
        for path, _, method in methods()
        if (method.name in OVERRIDDEN or method.name.endswith("Event"))
        and method.name != "paintEvent"
        and not is_handler(method)
    ]
    assert not found, "\n".join(found)


class Part:
    """Neither a widget nor one with a signal."""

    def __init__(self, error):
        self.error, self.seen = error, []

    @handler
    def two(self, first, second=None):
        self.seen.append((first, second))
        if self.error is not None:
            raise self.error

    @handler
    def is_taken(self) -> bool:
        raise self.error

    @handler
    def drag(self, event):
        self.seen.append(event)
        yield
        raise self.error


@pytest.fixture
def told(monkeypatch):

    found = []
    monkeypatch.setattr("napari.utils.notifications.show_error", found.append)
    return found


def test_handler_tells_its_error_and_raises_none(told):
    part = Part(UserError("is no number", argument="sigma"))
    assert part.two(1) is None
    assert part.is_taken() is False
    assert list(part.drag("press")) == [None]
    assert told == ["napari-scsc: the noise level is no number"] * 3


def test_handler_takes_no_more_arguments_than_the_method(told):
    part = Part(None)
    part.two(1, 2, 3)
    assert part.seen == [(1, 2)]
    assert not told


def test_what_is_no_error_of_the_user_goes_to_the_log_too(told, caplog):
    part = Part(KeyError("inner"))
    with caplog.at_level(logging.ERROR):
        part.two(1)
    assert told == ["napari-scsc: KeyError: 'inner'"]
    assert caplog.records[0].exc_info[1] is part.error
    caplog.clear()
    Part(UserError("a word")).two(1)
    assert not caplog.records


@pytest.mark.screen
def test_error_is_told_by_the_nearest_part_of_the_dock(qtbot, told):
    from qtpy.QtCore import QObject

    from napari_scsc.plugin.sections.form_widgets import Section

    section, heard = Section(), []
    qtbot.addWidget(section)
    section.failed.connect(heard.append)
    child = QObject(QObject(section))
    error = UserError("a word")
    tell(child, error)
    assert heard == [error]
    assert not told


@pytest.mark.screen
@pytest.mark.parametrize("way", ["unticked", "removed", "other axes"])
def test_layer_that_goes_while_filters_are_learned_for_it_leaves_the_dock_ready(
    make_light_dock, way
):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality, dock.n_base = "draft", 6
    dock.denoise()
    if way == "unticked":
        dock.source_section.picker.tick(set())
        dock.source_section.picker.picked.emit()
    elif way == "removed":
        viewer.layers.remove("mine")
    else:
        dock.source_section._boxes[0].value = "each by itself"
    finish(dock)
    assert dock.result is not None  # what was asked for is done
    assert not errors_raised()
    dock.source_section._boxes[0].value = "together"
    viewer.add_image(noisy_cells(), name="second")
    dock.sources = ["second"]
    assert is_ready(dock)


@pytest.mark.screen
def test_boxes_of_axes_that_are_gone_say_so(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells((3, 40, 40)), name="mine")
    boxes = dock.source_section._boxes
    viewer.layers.remove("mine")
    boxes[2].value = "joined"
    assert "open an image" in dock.message
    viewer.add_image(noisy_cells(), name="flat")
    boxes[2].value = "each by itself"
    assert "flat has 2 axes: there is no axis 2" in dock.message
    assert not errors_raised()
    assert is_ready(dock)
