"""The report: all of a run on one page, nothing of a model runs in it, and what it says repeats the run."""

import functools
import html
import re
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.cli.report import report as command
from chasles.integrate.method_name import method_from
from chasles.view.citations import citations, published
from chasles.view.model_of_run import repeated
from chasles.view.page import Page
from chasles.view.report import report
from chasles.view.series import reactions_of
from tests.absolute.test_mobility import four_bar
from tests.io.result_models import CASES, LAWS

HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def reports(runs):
    """Of each run one report, made when a test asks for it."""
    return functools.cache(lambda case: report(runs[case]))


@pytest.mark.first(1)
@pytest.mark.parametrize("case", ["adaptive", "absolute"])
def test_the_model_in_the_report_repeats_the_run_to_the_last_bit(case, runs, reports, tmp_path):
    run = runs[case]
    shown = html.unescape(re.search(r"<summary>model.toml</summary><pre>(.*?)</pre>", reports(case), re.DOTALL)[1])
    (tmp_path / "model.toml").write_text(shown, encoding="utf-8")
    again = ch.load(tmp_path / "model.toml", laws=LAWS).run()
    assert np.array_equal(again.t, run.t)
    assert np.array_equal(again.solution.y, run.solution.y)


def test_what_a_file_cannot_say_is_said(runs, reports):
    text, missing = repeated(runs["sampled"])
    assert "[simulation]" in text
    assert any("controller" in item for item in missing)
    assert "The file does not contain: a controller, asked every" in reports("sampled")


def test_it_has_the_verdict_and_every_finding(runs, reports):
    run, text = runs["absolute"], reports("absolute")
    assert f"certificate {run.certificate.status}" in text
    for finding in run.certificate.findings:
        assert f"<td>{html.escape(finding.name)}</td>" in text
        assert finding.shown in text
    for body in run.mechanism.system.bodies:
        assert f"<td>{html.escape(body.name)}</td>" in text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The file of a report with names that would run, or turn the text around them."""
    name, file = f"\u202e{HOSTILE}", tmp_path_factory.mktemp("hostile") / "report.html"
    system = ch.System(
        [ch.Body(name, 1.0, (0.3, 0.0, 0.0), (0.1, 0.2, 0.2))],
        [ch.revolute(f"hinge {name}", "ground", name, axis=(0, 0, 1))],
        name=name,
    )
    ch.simulate(system, (0.0, 0.5)).report(file)
    return file


def test_nothing_of_a_model_runs_in_it_and_nothing_is_asked_of_the_network(hostile, browser):
    browser.open(hostile, wait="document.readyState == 'complete'")
    assert browser.evaluate("document.querySelector('h1').textContent") == f"[U+202E]{HOSTILE}"
    assert browser.evaluate("document.querySelectorAll('h2').length") == 8
    assert browser.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 100)")
    browser.evaluate("document.querySelector('iframe').scrollIntoView(), 0")
    browser.evaluate("new Promise(done => setTimeout(done, 500))")
    assert browser.complaints() == []
    assert {url.split(":")[0] for url in browser.requests()} <= {"file", "data", "about"}


def test_a_run_without_points_has_a_report():
    system = ch.System(
        [ch.Body("rod", 1.0, (0.3, 0.0, 0.0), (0.1, 0.2, 0.2))], [ch.revolute("a", "ground", "rod", axis=(0, 0, 1))]
    )
    run = ch.simulate(system, (0.0, 0.1))
    empty = run.part(slice(0, 0))
    text = report(empty)
    assert "There is no point to draw" in text
    assert "certificate not judged" in text


@pytest.mark.parametrize(
    ("name", "author"),
    [
        *(("rk4", "Munthe-Kaas"), ("cf4", "Marthinsen"), ("cg3", "Crouch"), ("gauss", "Çokaj"), ("rattle", "Andersen")),
        *(
            ("generalized_alpha", "Brüls"),
            ("bliedf", "Wieloch"),
            ("half_explicit", "Brasey"),
            ("energy_momentum", "Simo"),
        ),
    ],
)
def test_methods_are_cited(name, author):
    assert author in published(method_from(name))


def test_the_program_comes_first(runs):
    found = citations(runs["absolute"], "9.9")
    assert found[0].startswith("chasles 9.9")
    assert len(found) == 3


def test_saved_times_are_in_a_model_file():
    system = ch.System(
        [ch.Body("rod", 1.0, (0.3, 0, 0), (0.1, 0.2, 0.2))], [ch.revolute("a", "ground", "rod", axis=(0, 0, 1))]
    )
    run = ch.simulate(system, (0.0, 0.3), save=np.linspace(0.0, 0.3, 7))
    text, missing = repeated(run)
    assert f"save = {np.linspace(0.0, 0.3, 7).tolist()}" in text
    assert missing == []


@pytest.mark.study
def test_a_failed_run_of_a_loop_has_a_report():
    with pytest.warns(ch.errors.StartChangedWarning, match="coordinate of 'A': 1.4 -> "):
        run = ch.simulate(four_bar(1.3), (0.0, 0.05), q=[1.4, -1.3, 1.2], assemble=True, step=1e-3, progress=False)
    assert len(run.mechanism.joints) < len(run.mechanism.system.joints)  # one that is cut has no coordinates
    solution = replace(run.solution, success=False, message="stopped at t = 0.05: no solution was found")
    text = report(replace(run, solution=solution))
    assert "certificate failed" in text
    assert "no solution was found" in text
    (change,) = (one for one in run.start_changes if one.name == "A")
    assert "<h2>Start</h2>" in text
    assert f"<td>1.4</td><td>{change.after[0]:.6g}</td><td>rad</td><td>given</td>" in text
    shown = re.search(r'alt="([^"]*) over time"', text)[1]
    assert all(f"joints.{name}" in shown for name in run.mechanism.joints)


def test_names_of_files_end_as_what_is_in_them(runs, tmp_path, monkeypatch, capsys):
    run = runs["absolute"]
    for write, name, endings in (
        (run.report, "a.pdf", ".html, .htm"),
        (run.save, "a.txt", ".h5, .hdf5, .html"),
        (run.save, "none", ".h5, .hdf5, .html"),
        (Page(run).save, "a.png", ".html, .htm"),
        (lambda file: CASES["fixed"](0.1, file=file), "a.txt", ".h5 or .hdf5"),
    ):
        with pytest.raises(ValueError, match=f"expected a name that ends in {endings}"):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    page = Page(run).open()
    assert capsys.readouterr().out == f"no browser could be opened; the page is {page}\n"
    page.unlink()


def test_a_report_lies_beside_its_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    CASES["fixed"](0.1, file="a/run.h5")
    command("a/run.h5")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.html")] == ["a/run_report.html"]


def test_joints_and_their_reactions_are_in_it(runs, reports):
    run, text = runs["absolute"], reports("absolute")
    axis = ", ".join(f"{x:.6g}" for x in np.array([0, 1, 0.1]) / np.hypot(1, 0.1))
    assert f"<td>elbow</td><td>revolute</td><td>upper</td><td>lower</td><td>0, 0, -0.4</td><td>{axis}</td>" in text
    times, wrenches = reactions_of(run)
    force = np.linalg.norm(wrenches["elbow"][:, 3:], axis=1)
    row = re.search(r"largest torque.*?<td>elbow</td>(.*?)</tr>", text)[1]
    shown = [float(cell) for cell in re.findall(r'<td class="number">([^<]*)</td>', row)]
    np.testing.assert_allclose(shown[:2], [force.max(), times[force.argmax()]], rtol=1e-3)


def test_names_cannot_turn_the_text_around_them(hostile):
    shown = re.sub(r'srcdoc="[^"]*"|<details>.*?</details>', "", hostile.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert f"[U+202E]{html.escape(HOSTILE)}" in shown
    assert "\u202e" not in shown


@pytest.mark.study
def test_a_narrow_screen_and_a_dark_one(reports, tmp_path, browser):
    (tmp_path / "report.html").write_text(reports("absolute"), encoding="utf-8")
    try:
        browser.scheme("dark")
        browser.resize(390, 760)
        browser.open(tmp_path / "report.html", wait="document.readyState == 'complete'")
        assert browser.evaluate("document.documentElement.scrollWidth") == 390
        bodies = "[...document.querySelectorAll('.scroll')].find(e => e.textContent.includes('center of mass'))"
        assert browser.evaluate(f"{bodies}.scrollWidth <= {bodies}.clientWidth")
        assert browser.evaluate("getComputedStyle(document.querySelector('img.chart')).filter").startswith("invert")
    finally:
        browser.scheme("light")
        browser.resize(800, 500)
