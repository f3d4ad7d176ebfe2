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


def show(browser, file, t):
    """A page at a time, in whatever state another test has left it: it is opened if it is not there."""
    if browser.page.url.partition("?")[0] != file.as_uri():
        browser.open(file, f"?t={t!r}")
    browser.evaluate(f"chasles.transport.go({t!r}), 0")
    rest(browser)


def rest(browser):
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize(
    "case", ["adaptive", *(pytest.param(name, marks=pytest.mark.study) for name in ("absolute", "sampled"))]
)
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


def test_keys_turn_move_and_zoom(pages, browser):
    show(browser, pages["adaptive"], 0.3)
    where = "[...chasles.stage.camera.position.toArray(), ...chasles.stage.controls.target.toArray()]"

    def after(*keys):
        before = np.array(browser.evaluate(where)).reshape(2, 3)
        for key in keys:
            browser.press(key)
        rest(browser)
        return before, np.array(browser.evaluate(where)).reshape(2, 3)

    for keys in ("4", "6", "8", "2"):
        (eye, target), (new, same) = after(*keys)
        np.testing.assert_allclose(same, target, atol=1e-12)
        angle = np.arccos((eye - target) @ (new - same) / np.linalg.norm(eye - target) / np.linalg.norm(new - same))
        assert 0.05 < angle < 0.13
        assert np.linalg.norm(new - same) == pytest.approx(np.linalg.norm(eye - target), rel=1e-6)
    for keys in ("1", "3", "7", "9"):
        (eye, target), (new, other) = after(*keys)
        np.testing.assert_allclose(new - eye, other - target, atol=1e-9)
        assert np.linalg.norm(new - eye) > 0.01 * np.linalg.norm(eye - target)
    for key, ratio in (("+", 1 / 1.15), ("-", 1.15)):
        (eye, target), (new, same) = after(key)
        assert np.linalg.norm(new - same) / np.linalg.norm(eye - target) == pytest.approx(ratio, rel=1e-6)
    browser.press("z")  # from above, x to the right
    rest(browser)
    right = browser.evaluate("(e => [e[0], e[1], e[2]])(chasles.stage.camera.matrixWorld.elements)")
    np.testing.assert_allclose(right, [1, 0, 0], atol=1e-6)


def test_charts_are_not_stretched_when_their_texts_grow(pages, browser):
    show(browser, pages["adaptive"], 0.3)
    for key in ("ArrowDown", "ArrowDown"):
        browser.press(key)
        rest(browser)
        sizes = browser.evaluate(
            "[...document.querySelectorAll('figure:not([hidden]) canvas')].map(c => [c.height, c.clientHeight])"
        )
        assert sizes
        assert all(inside == outside for inside, outside in sizes)


def test_names_do_not_cover_each_other(pages, browser):
    browser.open(pages["adaptive"], "?t=0")
    browser.press("n")
    browser.press("z")  # bodies above each other
    rest(browser)
    boxes = browser.evaluate(
        "[...document.querySelectorAll('#labels span')].map(s => s.getBoundingClientRect())"
        ".map(({left, top, right, bottom}) => [left, top, right, bottom])"
    )
    assert len(boxes) > 1
    for k, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] + 0.5 or other[3] <= top + 0.5


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
    center = drawn_pose(browser, "upper") @ [0, 0, -0.2, 1]
    np.testing.assert_allclose(followed, center[:3], atol=1e-9)
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


@pytest.mark.study
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


@pytest.mark.study
def test_a_trail_goes_where_the_body_was(tmp_path, browser):
    """A trail over many turns: chords between its points stay on the path, so it is shorter than asked for."""
    wheel = ch.System(
        [ch.Body("wheel", 1.0, (1.0, 0, 0), (0.1, 0.1, 0.1))],
        [ch.revolute("hub", "ground", "wheel", axis=(0, 0, 1))],
        gravity=(0, 0, 0),
    )
    ch.simulate(wheel, (0, 400), v=[10.0], rtol=1e-8, atol=1e-8).save(tmp_path / "wheel.html")
    browser.open(tmp_path / "wheel.html", "?t=390")
    browser.evaluate(
        "(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.getElementById('trails'))"
    )
    rest(browser)
    path = browser.evaluate(
        "(([trail]) => [...trail.geometry.attributes.position.array])([...chasles.views[0].trails.values()])"
    )
    # nine saved points over 640 turns, which poses alone do not show
    np.testing.assert_allclose(drawn_pose(browser, "wheel")[:2, 0], [np.cos(3900), np.sin(3900)], atol=1e-6)
    points = np.array(path).reshape(-1, 2, 3)[:, 0]
    chords = (points[1:] + points[:-1]) / 2
    assert np.linalg.norm(chords, axis=1).min() > 0.98
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() > 20  # meters: some turns


def test_small_meshes_are_smooth(tmp_path, browser):
    """A tube of a centimeter: normals of its wall point away from its axis."""
    count, radius, height = 48, 0.005, 0.02
    angle = 2 * np.pi * np.arange(count) / count
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    low, high = (np.column_stack([ring, np.full(count, z)]) for z in (0.0, height))
    rows = []
    for k in range(count):
        n = (k + 1) % count
        rows += [(low[k], low[n], high[n]), (low[k], high[n], high[k])]
    (tmp_path / "tube.obj").write_text(
        "".join(f"v {x:.9f} {y:.9f} {z:.9f}\n" for triangle in rows for x, y, z in triangle)
        + "".join(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}\n" for k in range(len(rows)))
    )
    tube = ch.Body("tube", 0.01, (0, 0, 0.01), (1e-6, 1e-6, 1e-6), shapes=[ch.shapes.Mesh(str(tmp_path / "tube.obj"))])
    system = ch.System([tube], [ch.revolute("axis", "ground", "tube", axis=(0, 0, 1))])
    ch.simulate(system, (0, 0.1), v=[1.0], rtol=1e-6, atol=1e-8).save(tmp_path / "tube.html")
    browser.open(tmp_path / "tube.html", "?t=0")
    found = browser.evaluate(
        "(() => { const g = chasles.views[0].bodies[0].solids.find(s => s.geometry.type === 'BufferGeometry').geometry;"
        " return [[...g.attributes.position.array], [...g.attributes.normal.array]]; })()"
    )
    position, normal = (np.array(values).reshape(-1, 3) for values in found)
    radial = position * [1, 1, 0]
    radial /= np.linalg.norm(radial, axis=1, keepdims=True)
    assert np.abs(np.einsum("ij,ij->i", radial, normal)).min() > 0.999


@pytest.mark.study
def test_the_picture_can_be_saved(pages, browser):
    browser.open(pages["adaptive"], "?t=0.3")
    browser.evaluate(
        "URL.createObjectURL = (blob) => (window.made = blob, 'data:,'),"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; }, 0"
    )
    browser.press("s")
    browser.until("window.named")
    assert browser.evaluate("made.type") == "image/png"
    assert browser.evaluate("named").endswith(" 0.3000 s.png")
    data = bytes(browser.evaluate("made.arrayBuffer().then(b => [...new Uint8Array(b)])"))
    drawn = matplotlib.image.imread(io.BytesIO(data), format="png")
    width, height = browser.evaluate("[chasles.stage.width, chasles.stage.height]")
    assert drawn.shape == (2 * height, 2 * width, 4)
    assert drawn[0, 0, 3] == 0  # no background
    assert (drawn[..., 3] == 1).mean() > 0.001
    assert browser.complaints() == []


@pytest.mark.study
def test_the_worst_of_the_verdicts_is_shown(runs, browser, tmp_path):
    page = Page(runs["absolute"], runs["adaptive"], labels=("one", "two"))
    page.save(tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    for statuses, words in (
        (("passed", "passed"), "✓ certificate passed"),
        (("passed", "not judged"), "? certificate not judged: two"),
        (("failed", "not judged"), "✗ certificate failed: one"),
        (("failed", "failed"), "✗ certificate failed"),
    ):
        set_them = "".join(f"chasles.data.runs[{k}].certificate.status = {one!r};" for k, one in enumerate(statuses))
        browser.evaluate(f"(() => {{ {set_them} chasles.panel.verdict(); }})(), 0")
        assert browser.evaluate("document.getElementById('verdict').textContent") == words
