"""The answers of docs/questions are true: their Python runs, their parts of model files load, and both say the same."""

import json
import re
import tomllib

import pytest

import chasles as ch
from tools.questions import INDEX, anchor, listing, pages, with_listing

BLOCK = re.compile(r"^```(python|toml)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
NAMES = [page.stem for page in pages()]
PARTS = ("bodies", "joints", "frames", "forces", "actuators", "constraints", "rods")
TABLES = {  # that the parts of model files name
    "motion.csv": "time [s],angle [deg]\n0,17\n0.5,40\n1,30\n",
    "force.csv": "time [s],force [N]\n0,0\n0.1,5\n0.2,0\n",
    "lobe.csv": "x [mm],y [mm]\n40,0\n10,30\n-20,0\n10,-30\n",
    "motor.csv": "speed [rpm],torque [N m]\n0,2\n1500,1.8\n3000,0\n",
}


def blocks(text, language):
    return [code for kind, code in BLOCK.findall(text) if kind == language]


def questions(page):
    """Heading and text of each question."""
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2], strict=True)


def merged(base, added):
    """A model file with the parts of another: those of the same name are replaced."""
    result = dict(base)
    for key, value in added.items():
        if isinstance(value, list) and isinstance(result.get(key), list) and value and isinstance(value[0], dict):
            names = {part["name"] for part in value}
            result[key] = [part for part in result[key] if part["name"] not in names] + value
        elif isinstance(value, dict):
            result[key] = merged(result.get(key, {}), value)
        else:
            result[key] = value
    return result


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def plain(part):
    """What a part consists of; conversions of units may round."""
    return re.sub(r"-?\b\d[\d.]*(e[+-]?\d+)?", lambda found: f"{float(found[0]):.9g}", repr(part))


def load(content, folder):
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    file = folder / "model.toml"
    file.write_text("".join(f"{key} = {inline(value)}\n" for key, value in content.items()))
    return ch.load(file)


@pytest.fixture(scope="module")
def arm():
    """What the examples go on with: the names of the first page, and its model file."""
    text, scope = INDEX.read_text(), {}
    for code in blocks(text, "python"):
        exec(code, scope)
    (file,) = blocks(text, "toml")
    return scope, tomllib.loads(file)


def described(scope):
    """Parts of systems by section and name, as the Python code made them."""
    found = {}
    for value in scope.values():
        systems = [value] if isinstance(value, ch.System) else []
        systems += [value.system] if isinstance(value, ch.Run) else []
        for section in PARTS:
            for part in [part for system in systems for part in getattr(system, section)]:
                found.setdefault((section, part.name), []).append(part)
    return found


def test_the_arm_is_the_same_in_python_and_in_its_file(arm, tmp_path):
    scope, content = arm
    study = load(content, tmp_path)
    assert study.system == scope["arm"]
    assert study.run(certificate=False).q[-1] == pytest.approx(scope["run"].q[-1], abs=1e-12)


@pytest.mark.parametrize("page", pages(), ids=NAMES)
def test_answers_run_and_both_forms_say_the_same(page, arm, tmp_path, monkeypatch):
    """Each question stands alone after the first page. Parts of model files are added to the file of the arm; with a
    name of its own, a file is complete."""
    monkeypatch.chdir(tmp_path)  # answers may write files
    load(arm[1], tmp_path)
    (tmp_path / "model.toml").rename("arm.toml")
    for question, text in questions(page):
        scope = dict(arm[0])
        for code in blocks(text, "python"):
            exec(compile(code, f"{page.name}: {question}", "exec"), scope)  # for messages
        made = described({name: value for name, value in scope.items() if value is not arm[0].get(name)})
        for code in blocks(text, "toml"):
            added = tomllib.loads(code)
            system = load(added if "name" in added else merged(arm[1], added), tmp_path).system
            system.compile("absolute" if system.rods else "relative")
            for section in PARTS:
                given = {part["name"] for part in added.get(section, [])}
                for part in (part for part in getattr(system, section) if part.name in given):
                    same = [plain(one) for one in made.get((section, part.name), [part])]
                    assert plain(part) in same, question


def test_the_first_page_lists_all_questions():
    text = INDEX.read_text()
    assert with_listing(text) == text, "python -m tools.questions writes the list"
    assert all(15 <= len(list(questions(page))) <= 30 for page in pages())
    assert len(re.findall(r"^- \[", listing(), flags=re.MULTILINE)) > 180


def test_headings_are_unique_and_links_between_questions_lead_to_one():
    heads = {page.name: {anchor(question) for question, _ in questions(page)} for page in pages()}
    everything = [head for found in heads.values() for head in found]
    assert len(everything) == len(set(everything))
    for page in pages():
        for target, head in re.findall(r"\]\(([a-z]*\.?[a-z]*)#([^)]+)\)", page.read_text()):
            if (target or page.name) in heads:
                assert head in heads[target or page.name], f"{page.name}: {target}#{head}"


def test_each_answer_is_short_and_has_a_link():
    for page in pages():
        for question, text in questions(page):
            assert len(text.splitlines()) <= 60, question
            assert re.search(r"\]\(", text), f"{question}: no link"
