"""Model files of the gallery are the systems that Python builds."""

import numpy as np
import pytest

from chasles.gallery import andrews, model_files, source_000
from chasles.io.model_file import read_study


@pytest.mark.parametrize("name", source_000.EXAMPLES)
def test_examples_of_source_000(name):
    study, example = read_study(model_files()[name]), source_000.EXAMPLES[name]()
    poses, twists = study.poses()
    assert study.system == example.system
    np.testing.assert_allclose(poses, example.poses, rtol=0, atol=3e-16)
    np.testing.assert_allclose(twists, example.twists, rtol=0, atol=1e-14)
    assert study.description


def test_andrews_squeezer():
    study = read_study(model_files()["andrews"])
    poses, twists = study.poses()
    assert study.system == andrews.system()
    np.testing.assert_allclose(poses, andrews.poses(), rtol=0, atol=1e-15)
    assert not twists.any()
    assert study.options["span"] == (0.0, andrews.END)
