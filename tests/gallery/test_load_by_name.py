"""`load` takes names of the gallery, as the commands do."""

from pathlib import Path

import pytest

import chasles as ch
from chasles.gallery import model_files


def test_a_name_of_the_gallery_is_a_model() -> None:
    assert ch.load("slider_crank").system.name == ch.load(ch.gallery.model_files()["slider_crank"]).system.name


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(ValueError, match=r"no such system in the gallery; did you mean 'slider_crank'\? there are .*"):
        ch.load("slidercrank")


def test_every_model_has_its_picture() -> None:
    pictures = Path(__file__).parents[2] / "docs" / "_static" / "gallery"
    assert {file.stem for file in pictures.glob("*.gif")} == set(model_files())  # python -m tools.gallery
