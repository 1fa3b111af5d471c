"""Published versions of the documentation stand beside each other."""

from __future__ import annotations

import json

import pytest

from scripts.publish_docs import publish


@pytest.fixture
def show(tmp_path):
    def publish_text(version, text=None):
        site = tmp_path / "site"
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text(text or version)
        publish(site, version, tmp_path / "shown")
        return tmp_path / "shown"

    return publish_text


def listed(shown):
    return [entry["version"] for entry in json.loads((shown / "versions.json").read_text())]


def text_of(shown, version):
    return (shown / version / "index.html").read_text()


def test_versions_are_kept_and_listed_from_the_newest(show):
    for version in ("0.9.0", "0.10.0", "dev", "0.9.1"):
        shown = show(version)
    assert listed(shown) == ["dev", "0.10.0", "0.9.1", "0.9.0"]
    assert all(text_of(shown, version) == version for version in listed(shown))


def test_latest_is_the_newest_release(show):
    assert text_of(show("dev"), "latest") == "dev"
    for version in ("0.9.0", "0.10.0", "0.11.0rc1", "0.9.1", "dev"):
        shown = show(version)
    assert text_of(shown, "latest") == "0.10.0"
    (latest,) = (e for e in json.loads((shown / "versions.json").read_text()) if e["aliases"])
    assert latest["version"] == "0.10.0"


def test_version_that_is_published_again_is_replaced(show):
    show("0.9.0", "with a mistake")
    shown = show("0.9.0", "without")
    assert listed(shown) == ["0.9.0"]
    assert text_of(shown, "0.9.0") == text_of(shown, "latest") == "without"


@pytest.mark.parametrize("version", ["latest", "../elsewhere", "a/b", ".."])
def test_name_that_is_no_version_is_refused(version, show):
    with pytest.raises(SystemExit):
        show(version)


def test_folder_that_is_no_site_is_refused(tmp_path):
    with pytest.raises(SystemExit):
        publish(tmp_path, "0.1.0", tmp_path / "shown")
    assert not (tmp_path / "shown").exists()
