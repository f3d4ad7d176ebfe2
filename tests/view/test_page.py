"""The 3D page in a browser: what it draws is what is in the run, and nothing that a model says can run in it."""

import io
import time

import matplotlib.image
import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.view.page import Page
from chasles.view.scene import poses_at


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    files = {}
    for case, run in runs.items():
        files[case] = folder / f"{case}.html"
        run.save(files[case])
    return files


def picture(browser):
    """Pixels of the stage, (rows, columns, 3), from 0 to 1."""
    whole = matplotlib.image.imread(io.BytesIO(browser.screenshot()), format="png")[..., :3]
    box = browser.evaluate(
        "(({x, y, width, height}) => [x, y, width, height])(document.getElementById('stage').getBoundingClientRect())"
    )
    x, y, width, height = (round(value) for value in box)
    return whole[y : y + height, x : x + width]


def drawn_pose(browser, body, run=0):
    """4x4 matrix of a body as it is drawn."""
    return np.array(browser.evaluate(f"chasles.pose({run}, {body!r})")).reshape(4, 4).T


def rest(browser):
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize("case", ["adaptive", "absolute", "sampled"])
def test_pose_at_a_time_in_the_address_is_that_of_the_run(case, runs, pages, browser):
    run = runs[case]
    saved = [float(run.t[k]) for k in (0, len(run) // 3, len(run) - 1)]
    between = [] if case == "sampled" else [0.123456, 1.7654321]  # a sampled run has no curve between its points
    for k, t in enumerate([*saved, *between]):
        if k == 0:
            browser.open(pages[case], f"?t={t!r}")
            rest(browser)
            assert not browser.evaluate("chasles.transport.playing")
        else:
            browser.evaluate(f"chasles.transport.go({t!r}), 0")
            rest(browser)
        for body, pose in zip(run.mechanism.bodies, poses_at(run, np.array([t]))[0], strict=True):
            np.testing.assert_allclose(drawn_pose(browser, body), pose_group.to_matrix(pose), rtol=0, atol=1e-6)
    assert browser.complaints() == []
    assert browser.requests() == [pages[case].as_uri() + "?t=0.0"]


def test_it_draws_plays_and_scrubs(runs, pages, browser):
    browser.open(pages["adaptive"], "?t=0.3&theme=light")
    first = picture(browser)
    blue = (first[..., 2] > first[..., 0] + 0.15) & (first[..., 2] > 0.3)
    orange = (first[..., 0] > first[..., 2] + 0.2) & (first[..., 0] > 0.4)
    assert blue.sum() > 30
    assert orange.sum() > 30
    assert first.std() > 0.01
    frames, begin = browser.evaluate("[chasles.frames, chasles.transport.time]")
    browser.press(" ")
    browser.until(f"chasles.frames > {frames + 3} && chasles.transport.time > {begin}")
    browser.press(" ")
    assert not browser.evaluate("chasles.transport.playing")
    assert np.abs(picture(browser) - first).max() > 0.2
    browser.evaluate(
        "((s) => { s.value = '0.5'; s.dispatchEvent(new Event('input')); })(document.getElementById('scrub'))"
    )
    rest(browser)
    run = runs["adaptive"]
    assert browser.evaluate("chasles.transport.time") == pytest.approx(1.0)
    for body, pose in zip(run.mechanism.bodies, poses_at(run, np.array([1.0]))[0], strict=True):
        np.testing.assert_allclose(drawn_pose(browser, body), pose_group.to_matrix(pose), rtol=0, atol=1e-6)
    assert browser.complaints() == []


def test_keys_bodies_and_layers(pages, browser):
    browser.open(pages["absolute"], "?t=0.5")
    browser.press("ArrowDown")
    assert browser.evaluate("chasles.selected") == "upper"
    browser.press("h")
    assert browser.evaluate("chasles.views[0].bodies[0].group.visible") is False
    browser.press("f")
    browser.press("End")
    rest(browser)
    followed = np.array(browser.evaluate("chasles.stage.controls.target.toArray()"))
    centre = drawn_pose(browser, "upper") @ [0, 0, -0.2, 1]
    np.testing.assert_allclose(followed, centre[:3], atol=1e-9)
    browser.press("r")
    rest(browser)
    assert browser.evaluate("chasles.views[0].reactions.length") == 2
    assert browser.evaluate("chasles.views[0].reactions.some(({arrow}) => arrow.visible && arrow.parent.visible)")
    browser.press("Home")
    assert browser.evaluate("chasles.transport.time") == 0
    dark = browser.evaluate("chasles.dark")
    browser.press("d")
    assert browser.evaluate("document.documentElement.dataset.theme") == ("light" if dark else "dark")
    browser.evaluate("localStorage.clear()")
    browser.press("?")
    assert browser.evaluate("document.getElementById('help').open")
    browser.press("Escape")
    browser.until("!document.getElementById('help').open")
    # all controls can be reached by keyboard, and the focus is seen
    browser.evaluate("document.activeElement.blur()")
    seen = set()
    for _ in range(30):
        browser.press("Tab")
        seen.add(browser.evaluate("document.activeElement.id"))
        if "play-button" in seen:
            break
    assert {"toggle-panel", "theme-button", "scene", "play-button"} <= seen
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert browser.complaints() == []


def test_preferred_scheme_and_narrow_screen(pages, browser):
    try:
        browser.scheme("dark")
        browser.resize(390, 760)
        browser.open(pages["absolute"], "?t=0.5")
        assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
        assert picture(browser).mean() < 0.35
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        for name in ("stage", "transport", "charts"):
            box = browser.evaluate(f"document.getElementById('{name}').getBoundingClientRect().toJSON()")
            assert box["width"] == 390
            assert box["height"] > 40
            assert box["bottom"] <= 760
        browser.scheme("light")
        rest(browser)
        assert browser.evaluate("document.documentElement.dataset.theme") == "light"
    finally:
        browser.scheme("light")
        browser.resize(800, 500)
    assert browser.complaints() == []


def test_names_neither_run_nor_break_the_page(browser, tmp_path):
    names = [
        "</script><script>window.hacked = 1</script>",
        '<img src=x onerror="window.hacked = 1">\'"`${window.hacked = 1}',
        "<!--<script>\u2028 &lt; \\u003c {{script}}",
    ]
    bodies = [ch.Body(name, 1.0, (0, 0, -0.2), (0.03, 0.03, 0.002)) for name in names]
    joints = [
        ch.spherical(f"{name} joint", names[k - 1] if k else "ground", name, at=(0, 0, -0.4 if k else 1.0))
        for k, name in enumerate(names)
    ]
    frames = [ch.Frame(f"{names[0]} frame", names[-1], (0, 0, -0.4))]
    system = ch.System(bodies, joints, frames, name=names[0])
    run = ch.simulate(system, (0.0, 0.2), v=[0.1] * 9, step=1e-3, coordinates="absolute", save=3, progress=False)
    page = Page(run)
    assert names[0] not in page.html
    page.save(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "?t=0.1")
    browser.press("n")
    rest(browser)
    shown = browser.evaluate("[...document.querySelectorAll('#bodies .pick')].map((one) => one.textContent)")
    assert shown == names
    assert browser.evaluate("document.title") == names[0]
    assert browser.evaluate("window.hacked === undefined")
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    # and even a script that came in somehow would not run
    browser.evaluate(
        "((s) => { s.textContent = 'window.hacked = 1'; document.body.append(s); })(document.createElement('script'))"
    )
    assert browser.evaluate("window.hacked === undefined")
    assert len(browser.complaints()) == 1
    assert "Content Security Policy" in browser.complaints()[0]


def test_two_runs_side_by_side(runs, browser, tmp_path):
    page = Page(runs["absolute"], runs["adaptive"], labels=("one", "two"))
    page.save(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "?t=1.1")
    assert browser.evaluate("[...document.querySelectorAll('#captions span')].map((one) => one.textContent)") == [
        "one",
        "two",
    ]
    for k, case in enumerate(("absolute", "adaptive")):
        (pose,) = poses_at(runs[case], np.array([1.1]))
        np.testing.assert_allclose(drawn_pose(browser, "lower", k), pose_group.to_matrix(pose[1]), rtol=0, atol=1e-6)
    left, right = np.array_split(picture(browser), 2, axis=1)
    for half in (left, right):
        assert ((half[..., 0] > half[..., 2] + 0.2) & (half[..., 0] > 0.4)).sum() > 20
    assert browser.complaints() == []


def test_what_is_no_run_is_refused(runs):
    with pytest.raises(ValueError, match="no run is given"):
        Page()
    with pytest.raises(ValueError, match="is not a run"):
        Page(3)
    with pytest.raises(ValueError, match="2 labels for 1 runs"):
        Page(runs["absolute"], labels=("a", "b"))


def test_page_in_a_notebook(runs, browser, tmp_path):
    """The page appears in a frame that can do nothing else."""
    text = Page(runs["absolute"])._repr_html_()
    assert text.startswith("<iframe ")
    assert 'sandbox="allow-scripts"' in text
    assert len(runs["absolute"]._repr_html_()) < 5000
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset='utf-8'><body>{text}</body>", encoding="utf-8")
    browser.open(file, wait="document.readyState === 'complete'")
    end = time.monotonic() + 30
    while True:
        whole = matplotlib.image.imread(io.BytesIO(browser.screenshot()), format="png")[..., :3]
        if ((whole[..., 2] > whole[..., 0] + 0.15) & (whole[..., 2] > 0.3)).sum() > 300:
            break
        assert time.monotonic() < end, browser.complaints()
        time.sleep(0.1)
    assert browser.complaints() == []
