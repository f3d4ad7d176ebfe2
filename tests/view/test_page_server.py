"""`chasles view`: the page on this machine only, of runs that have ended and of those that still go on."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import h5py
import numpy as np
import pytest

import chasles as ch
from chasles.cli.model import labeled
from chasles.cli.view import view, wait_for
from chasles.io.result import layout, reader
from chasles.lie import pose as pose_group
from chasles.view import page_cache as kept
from chasles.view import page_data as data_module
from chasles.view import server as server_module
from chasles.view.page_data import run_data
from chasles.view.preview import glance
from chasles.view.scene import poses_at
from chasles.view.server import Viewer
from tests.view.test_page import drawn_pose, rest
from tests.waiting import limited


@pytest.fixture
def serve():
    started = []

    def start(*runs, port=0):
        server = Viewer({f"run {k}" if len(runs) > 1 else "": run for k, run in enumerate(runs)}, port)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def set_count(file, at, name, value):
    """Make a file as a process leaves it that is killed or still runs: so many rows count, or the run has not ended."""
    with file.open("r+b") as stream:
        layout.put(stream.fileno(), np.array(value, "<i8").tobytes(), at + 8 * layout.FILE_COUNTS.index(name))


def get(server, path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_it_answers_this_machine_only(serve, runs):
    server = serve(runs["absolute"])
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.server_port), timeout=5)
    for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1", "127.0.0.1:1"):
        answer, text = get(server, host=host)
        assert answer.status == 403
        assert "<script" not in text
    answer, text = get(server, host=f"localhost:{server.server_port}")
    assert answer.status == 200
    assert "connect-src 'self'" in text
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert get(server, "/../../etc/passwd")[0].status == 404
    assert get(server, "/news?have=x.y.z")[0].status == 400
    with pytest.raises(ValueError, match="cannot be used"):
        serve(runs["absolute"], port=server.server_port)


def test_half_a_request_is_given_up(serve, runs, monkeypatch):
    """Nothing sent, half of a line, or a letter now and then: the connection ends, and others are served meanwhile."""
    monkeypatch.setattr(server_module, "PATIENCE", 0.6)
    server = serve(runs["absolute"])
    begun = time.monotonic()
    halves = [socket.create_connection(("127.0.0.1", server.server_port), timeout=60) for _ in range(3)]
    halves[1].sendall(b"GET / HT")
    halves[2].sendall(b"GET / HTTP/1.1\r\n")
    assert get(server)[0].status == 200
    while time.monotonic() < begun + 0.5:  # each letter comes in time, the whole never does
        halves[2].sendall(b"x")
        time.sleep(0.1)
    for half in halves:
        while half.recv(1000):
            pass
        half.close()
    assert get(server)[0].status == 200


def test_a_kept_page_that_was_damaged_is_not_shown(runs, tmp_path):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    kept.keep(kept.place(file), {"scene": {"bodies": []}, "ended": True})
    page = kept.place(file)
    assert kept.find(file)["ended"]
    data = page.read_bytes()
    for damaged in (b"", b"{}", data[:-1], data.replace(b"true", b"null"), data[data.index(b"\n") + 1 :], b"\xff" * 99):
        page.write_bytes(damaged)
        assert kept.find(file) is None


def test_the_page_follows_a_run_that_still_goes_on(serve, runs, browser, tmp_path):
    """A file as a killed or running process leaves it: fewer rows count, and the run has not ended."""
    file = tmp_path / "run.h5"
    run = runs["absolute"]
    run.save(file, quantities=())
    count = partial(set_count, file, reader.read(file).offsets["counts"])

    def compare(t):
        for body, pose in zip(run.mechanism.bodies, poses_at(run, np.array([t]))[0], strict=True):
            np.testing.assert_allclose(drawn_pose(browser, body), pose_group.to_matrix(pose), rtol=0, atol=1e-6)

    count("rows", 200)
    count("ended", 0)
    server = serve(file)
    browser.open(server.address)
    assert browser.evaluate("chasles.data.live")
    assert browser.evaluate("chasles.span()") == [0, run.t[199]]
    assert not kept.folder().exists()
    count("rows", 500)
    browser.until(f"chasles.span()[1] === {float(run.t[499])!r} && chasles.transport.time === chasles.span()[1]")
    rest(browser)
    compare(run.t[499])
    assert not browser.evaluate("document.getElementById('live').hidden")
    count("rows", len(run))
    count("ended", 1)
    browser.until("!chasles.data.live")
    browser.evaluate(
        "chasles.transport.go(0.7771), new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    compare(0.7771)
    browser.until("document.getElementById('live').hidden && !document.getElementById('certificate-section').hidden")
    assert browser.complaints() == []
    assert all(address.startswith(server.address) for address in browser.requests() if not address.startswith("data:"))
    # the next time nothing is computed
    assert kept.find(file)["motion"]["blocks"]
    again = serve(file)
    assert again.data()["runs"][0]["label"] == server.data()["runs"][0]["label"]
    assert again.watched[0].motion is None
    file.touch()
    assert kept.find(file) is None


def test_the_mechanism_is_shown_before_anything_compiled_is_loaded(serve, runs, browser, tmp_path):
    """The scene is in the file: the page has it, at the start and with the bounds of the whole motion, while the rest
    is read."""
    file = tmp_path / "run.h5"
    run = runs["absolute"]
    run.save(file, quantities=())
    code = f"""
import sys, json
import chasles
from pathlib import Path
from chasles.view.preview import glance
print(json.dumps([glance(Path({str(file)!r})), [name for name in ("numba", "chasles.lie") if name in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    seen, loaded = json.loads(done.stdout)
    assert loaded == []
    whole = run_data(ch.open(file))
    assert seen["scene"]["bodies"] == json.loads(json.dumps(whole["scene"]["bodies"]))
    assert seen["motion"]["start"] == whole["motion"]["start"]
    assert seen["span"] == whole["span"]
    box, expected = (np.array(data["scene"]["hull"]) for data in (seen, whole))
    size = np.ptp(expected, axis=0).max()
    np.testing.assert_allclose(box.min(axis=0), expected.min(axis=0), atol=0.02 * size)
    np.testing.assert_allclose(box.max(axis=0), expected.max(axis=0), atol=0.02 * size)

    server = serve(file)
    first = server.data()["runs"][0]
    assert first["reading"]
    assert first["motion"]["blocks"] == []
    browser.open(server.address, "?t=0.7771")
    rest(browser)
    for body, pose in zip(run.mechanism.bodies, poses_at(run, np.array([0.7771]))[0], strict=True):
        np.testing.assert_allclose(drawn_pose(browser, body), pose_group.to_matrix(pose), rtol=0, atol=1e-6)
    assert not browser.evaluate("document.getElementById('certificate-section').hidden")
    assert browser.evaluate("document.querySelectorAll('#layers button').length") == 7
    assert browser.evaluate("document.getElementById('message').textContent") == ""
    assert browser.complaints() == []


def test_another_run_in_the_place_of_a_file_takes_the_place_of_its_motion(runs, tmp_path, monkeypatch):
    """Whether it has more points or fewer, ended or goes on; and a page learns that it is another system."""
    monkeypatch.setattr(server_module, "PAUSE", 0.0)
    file = tmp_path / "run.h5"
    top = ch.System([ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))], [ch.spherical("pivot", "ground", "top")])

    def make(speed, rows):
        file.unlink(missing_ok=True)
        options = {"method": ch.integrate.RKMK("rk4"), "step": 1e-2, "progress": False, "file": file}
        ch.simulate(top, (0, 1), v=[1, 0, speed], **options)
        if rows:
            counts = np.array([rows, 0, 0], "<i8").tobytes()
            with file.open("r+b") as stream:
                layout.put(stream.fileno(), counts, reader.read(file).offsets["counts"])

    make(30.0, 40)
    watched = server_module.Watched(file, "")
    before = watched.look()
    assert watched.look() is before
    make(-5.0, 60)
    after = watched.look()
    assert (before["turn"], after["turn"]) == (0, 1)
    assert after["motion"]["saved"] == 60
    assert len(after["motion"]["blocks"]) == 1
    assert after["motion"]["blocks"] != before["motion"]["blocks"]
    make(-7.0, None)
    ended = watched.look()
    assert (ended["turn"], ended["ended"], ended["model"]) == (2, True, before["model"])
    os.utime(file)  # the same run once more
    assert watched.look()["turn"] == 2
    runs["absolute"].save(file, quantities=())
    other = watched.look()
    assert (other["turn"], other["name"]) == (3, runs["absolute"].mechanism.system.name)
    assert other["model"] != ended["model"]


def test_news_are_what_is_new(serve, runs):
    server = serve(runs["absolute"])
    run = server.data()["runs"][0]
    have = (len(run["motion"]["blocks"]), run["turn"], run["version"])
    assert server.news([have]) == {"runs": [None], "live": False}
    (new,) = server.news([(0, 0, 0)])["runs"]
    assert new["blocks"] == run["motion"]["blocks"]
    (new,) = server.news([(have[0], have[1] + 1, have[2])])["runs"]
    assert new["blocks"] == run["motion"]["blocks"]


def test_the_first_look_does_not_wait_for_the_reading(serve, runs, tmp_path):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    server = serve(file)
    with server.watched[0].lock:  # it is being read
        assert server.data()["runs"][0]["reading"]
        assert server.data()["runs"][0]["reading"]


@pytest.mark.study
def test_the_page_asks_again_for_a_motion_that_does_not_come(serve, runs, browser, tmp_path, monkeypatch):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    server = serve(file)
    news, failures = server.news, iter([server_module.NotYetError("not yet")] * 2)

    def unwilling(have):
        if error := next(failures, None):
            raise error
        return news(have)

    monkeypatch.setattr(server, "news", unwilling)
    browser.open(server.address)
    assert browser.evaluate("chasles.views[0].motion.blocks.length") > 0
    assert browser.evaluate("document.getElementById('message').textContent") == ""


@pytest.mark.study
def test_a_file_damaged_behind_its_first_look_ends_the_command(runs, tmp_path):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    with h5py.File(file, "r+") as h5:
        del h5["energy"]
    assert glance(file)
    command = [sys.executable, "-m", "chasles", "view", str(file), "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "energy" in done.stderr


def test_a_first_look_is_not_taken_from_another_file(runs, tmp_path):
    file, other = tmp_path / "run.h5", tmp_path / "other.h5"
    for target in (file, other):
        runs["absolute"].save(target, quantities=())
    with h5py.File(file, "r+") as h5:
        del h5["look"]
        h5["look"] = h5py.ExternalLink(str(other), "look")
    assert glance(file) is None


def test_pictures_are_no_reason_for_a_run_to_fail(tmp_path, monkeypatch):
    def broken(*_):
        raise TypeError("broken")

    monkeypatch.setattr(data_module, "hull_of", broken)
    monkeypatch.setattr(data_module, "look_text", broken)
    top = ch.System([ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))], [ch.spherical("pivot", "ground", "top")])
    file = tmp_path / "run.h5"
    with pytest.warns(RuntimeWarning, match="first look of the 3D page is not in the file"):
        run = ch.simulate(
            top, (0, 1), v=[1, 0, 30.0], method=ch.integrate.RKMK("rk4"), step=1e-2, progress=False, file=file
        )
    assert run.success
    outcome = reader.read(file).outcome
    assert outcome["energy"]
    assert outcome["certificate"]["findings"]
    assert glance(file) is None


def test_a_first_look_of_another_version_is_not_taken(runs, tmp_path, monkeypatch):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    assert glance(file)
    monkeypatch.setattr(ch, "__version__", "0.0")
    assert glance(file) is None
    assert glance(tmp_path / "none.h5") is None


def test_of_a_run_that_goes_on_no_more_is_looked_at_than_can_be(runs, tmp_path, monkeypatch):
    """While it goes on, some of its saved times; when it has ended all of it, in place of what there was."""
    file = tmp_path / "run.h5"
    run = runs["absolute"]
    run.save(file, quantities=())
    count = partial(set_count, file, reader.read(file).offsets["counts"])

    monkeypatch.setattr(data_module, "LIVE", 40)
    monkeypatch.setattr(server_module, "PAUSE", 0.0)
    count("rows", 300)
    count("ended", 0)
    watched = server_module.Watched(file, "")
    motion = watched.look()["motion"]
    assert motion["every"] == -(-299 * len(run.mechanism.bodies) // 40)
    assert motion["checked"] <= 42
    assert (watched.turn, motion["saved"]) == (0, 300)
    count("rows", len(run))
    count("ended", 1)
    os.utime(file)
    motion = watched.look()["motion"]
    assert (watched.turn, motion["every"], motion["saved"]) == (1, 1, len(run))
    assert motion["blocks"] == run_data(run)["motion"]["blocks"]


@pytest.mark.study
def test_a_file_that_cannot_be_read_ends_the_command(runs, tmp_path):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    file.write_bytes(file.read_bytes()[:5000])
    done = subprocess.run(
        [sys.executable, "-m", "chasles", "view", str(file), "--no-browser"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert "damaged" in done.stderr


def test_runs_of_the_same_name_are_told_apart():
    assert labeled(["a/run.h5", "b/run.h5"]) == {"a/run.h5": "a/run.h5", "b/run.h5": "b/run.h5"}
    assert labeled(["x/a.h5", "y/b.h5"]) == {"a": "x/a.h5", "b": "y/b.h5"}
    assert labeled(["a.h5", "a.h5"]) == {"a (1)": "a.h5", "a (2)": "a.h5"}


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path, capsys):
    file = tmp_path / "run.h5"
    threading.Timer(0.3, file.touch).start()
    wait_for(file)
    assert file.exists()
    assert "waiting" in capsys.readouterr().out


def test_what_is_wrong_with_a_file_is_said_in_the_page(serve, browser, tmp_path):
    file = tmp_path / "run.h5"
    file.write_bytes(b"no result")
    server = serve(file)
    browser.open(server.address, wait="document.getElementById('message').textContent.includes('result file')")
    assert str(file) in browser.evaluate("document.getElementById('message').textContent")


def test_a_run_that_has_only_just_begun_is_waited_for(serve, runs, tmp_path):
    file = tmp_path / "run.h5"
    runs["absolute"].save(file, quantities=())
    stored = reader.read(file)
    with file.open("r+b") as stream:
        layout.put(stream.fileno(), bytes(8 * len(layout.FILE_COUNTS)), stored.offsets["counts"])
    assert get(serve(file), "/data")[0].status == 503


def test_the_command_ends_with_ctrl_c(runs, tmp_path, capsys):
    file, page = tmp_path / "run.h5", tmp_path / "run.html"
    runs["absolute"].save(file, quantities=())
    view([str(file), str(file)], output=page)
    assert "wrote" in capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"no result file 'none.h5'"):
        view(["none.h5"], browser=False)
    with pytest.raises(ValueError, match="nowhere"):
        view([str(file)], output=tmp_path / "nowhere" / "page.html")
    started = subprocess.Popen(
        [sys.executable, "-m", "chasles", "view", str(file), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # pytest's may ignore it
    )
    with limited(started) as process:
        line = process.stdout.readline()
        port = int(re.search(r"http://127.0.0.1:(\d+)/", line).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        assert b"<!doctype html>" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
