"""Model files of the gallery are the systems that Python builds."""

import numpy as np
import pytest

from chasles.gallery import model_files, source_000
from chasles.io.model_file import read_study


@pytest.mark.parametrize("name", source_000.EXAMPLES)
def test_examples_of_source_000(name):
    study, example = read_study(model_files()[name]), source_000.EXAMPLES[name]()
    start = study.start("absolute")
    assert study.system == example.system
    np.testing.assert_allclose(start["poses"], example.poses, rtol=0, atol=3e-16)
    np.testing.assert_allclose(start["twists"], example.twists, rtol=0, atol=1e-14)
    assert study.description
