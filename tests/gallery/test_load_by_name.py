"""`load` takes names of the gallery, as the commands do."""

import pytest

import chasles as ch


def test_a_name_of_the_gallery_is_a_model() -> None:
    assert ch.load("slider_crank").system.name == ch.load(ch.gallery.model_files()["slider_crank"]).system.name


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(ValueError, match=r"no such system in the gallery; did you mean 'slider_crank'\? there are .*"):
        ch.load("slidercrank")
