"""The 3D page of a study: ghosts of other members move with their own runs, and a click on a point opens one."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.view.scene import poses_at
from tests.commands import chasles
from tests.ensembles.test_ensemble import ARM
from tests.simulation.systems import pendulum
from tests.view.test_page import drawn_pose, rest


def swing(angle, damping):
    """The run of a pendulum."""
    return ch.simulate(pendulum(damping=damping), (0, 1), {"hinge": angle}, method="rk4", step=0.01)


@pytest.fixture(scope="module")
def study():
    angles = {"angle": [0.2, 0.5, 0.8, 1.1], "damping": 0.1}
    return ch.ensemble(swing, set=angles, quantities=["max(energy.kinetic)"])


def ghost(browser, k):
    """4x4 matrix of the bob of a ghost."""
    text = f"(g => (g.updateWorldMatrix(true, false), g.matrixWorld.elements.slice()))(chasles.ghosts[{k}].groups[0])"
    return np.array(browser.evaluate(text)).reshape(4, 4).T


@pytest.mark.browser
def test_ghosts_move_as_their_members_and_a_click_opens_one(study, browser, tmp_path):
    file, t, chosen = tmp_path / "study.html", 0.437, [0, 2, 3]
    study.page(chosen, over="angle").save(file)
    browser.open(file, f"?t={t}")
    rest(browser)

    def expected(i):
        return pose_group.to_matrix(poses_at(study.member(i), np.array([t]))[0, 0])

    np.testing.assert_allclose(drawn_pose(browser, "bob"), expected(0), atol=1e-6)
    np.testing.assert_allclose(ghost(browser, 0), expected(2), atol=1e-6)
    np.testing.assert_allclose(ghost(browser, 1), expected(3), atol=1e-6)
    assert browser.evaluate("document.querySelectorAll('#scatter circle').length") == 4
    assert browser.evaluate("document.querySelectorAll('#scatter .there').length") == 3
    browser.evaluate("window.before = true, 0")
    browser.page.click("[data-member='2']")
    browser.until("!window.before && window.chasles?.ready")
    rest(browser)
    np.testing.assert_allclose(drawn_pose(browser, "bob"), expected(2), atol=1e-6)
    assert browser.evaluate("document.querySelector('[aria-pressed=true][data-member]').dataset.member") == "2"
    assert browser.complaints() == []


def test_what_is_wrong_with_a_page_of_a_study(study):
    with pytest.raises(ValueError, match="no member 9; there are 4"):
        study.page([9])
    with pytest.raises(ValueError, match="over='angl' is not a number of each member; did you mean 'angle'"):
        study.page(over="angl")
    with pytest.raises(ValueError, match="no member to show"):
        study.page([])
    with pytest.raises(ValueError, match="41 members; expected at most 40"):
        study.page(range(41))
    assert study.page().data["study"]["label"] == ["angle", "max(energy.kinetic)"]


def test_the_command_shows_a_study(tmp_path):
    file, page = tmp_path / "s.h5", tmp_path / "s.html"
    ch.ensemble(ARM, set={"length": [0.4, 0.5, 0.6]}, quantities="max(joints.elbow)", file=file)

    def view(what, members):
        return chasles("view", str(what), "--members", members, "-o", str(page))

    assert "wrote" in view(file, "0,2").stdout
    assert '"members":[0,2]' in page.read_text()
    for what, members, said in ((file, "7", "no member 7"), (file, "a", "expected numbers"), (ARM, "0", "for a study")):
        assert said in view(what, members).stderr
