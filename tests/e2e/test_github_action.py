"""The GitHub Action in the folder action: its real steps run with bash, on files as GitHub provides them."""

import json
import os
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from support.command import sgi
from support.command_server import CommandServer
from support.github_runner import obeyed, run_action, run_script

ACTION = Path(__file__).parents[2] / "action" / "action.yml"
EXAMPLES = Path(__file__).parents[2] / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"
HOSTILE = [
    "::add-mask::secret",
    "##[add-mask]secret",
    "a\n::error file=x::b",
    "<img src=x onerror=alert(1)> </code></td></table> <script>",
    "[click](https://evil.example) ![](https://evil.example/x.png) www.evil.example https://evil.example",
    "| a | b |\n\n# heading @octocat #1 `code` 100%0A25%",
]
TAGS = {"h2", "h3", "p", "table", "tr", "th", "td", "code", "ul", "li", "a"}


def runner(folder, *, programs, execute):
    """Return a function that runs the steps of the action, with the programs of these folders first."""
    workspace, temporary = folder / "work", folder / "temp"
    workspace.mkdir()
    temporary.mkdir()
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])

    def call(**inputs):
        inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
        given = {"data": "rows.jsonl", "package": "installed"} | inputs
        os_environment = {"PATH": path, "HF_HUB_OFFLINE": "1"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in os_environment.items():
                patch.setenv(name, value)
            patch.delenv("SGI_DATABASE_URL", raising=False)
            return run_action(ACTION, workspace, temporary, given, execute)

    call.workspace = workspace
    return call


@pytest.fixture
def installed(tmp_path):
    """Run the steps with the installed command, in processes of its own."""
    return runner(tmp_path, programs=[Path(sys.executable).parent], execute=run_script)


@pytest.fixture
def run(tmp_path):
    """Run the steps; this process executes their command `sgi`."""
    with CommandServer() as server:
        programs = [server.folder, Path(sys.executable).parent]
        yield runner(tmp_path, programs=programs, execute=server.execute)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def answers(count, wrong=0):
    return [
        {
            "id": f"q{n}",
            "question": f"Who is {n}?",
            "response": "no" if n < wrong else "yes",
            "reference": "yes",
        }
        for n in range(count)
    ]


def annotations(job):
    return [command for command in job.commands if command.name == "error"]


@pytest.mark.slow
def test_a_run_that_meets_its_rules_passes(installed):
    lines = EXAMPLES.read_text("utf-8").splitlines()[:20]
    (installed.workspace / "rows.jsonl").write_text("\n".join(lines), "utf-8")
    job = installed(metrics="grounding,rouge_l", rules="grounding >= 0.01\nrouge_l >= 0.001\n")
    assert job.code == 0, job.log
    assert job.commands == []
    assert job.outputs["passed"] == "true"
    assert f"<code>{job.outputs['run']}</code>" in job.summary
    assert "Worst rows of metrics that passed" in job.summary
    assert "Failing rows" not in job.summary
    assert Path(job.outputs["report"]).read_text("utf-8").startswith("<!DOCTYPE html>")
    assert '<a href="https://github.example/artifacts/7">Report of the run</a>' in job.summary
    assert job.used == [
        (
            "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f",
            {"name": "sgi-report", "path": str(Path(job.outputs["report"]).parent), "overwrite": "True"},
        )
    ]


@pytest.mark.slow
def test_a_failed_gate_annotates_the_lines_of_the_worst_rows(run):
    (run.workspace / "eval").mkdir()
    write_rows(run.workspace / "eval" / "rows.jsonl", answers(40, wrong=30))
    job = run(working_directory="eval", metrics="squad_em", rules="squad_em>=0.9", gate_options="--worst=3")
    assert job.code == 4
    assert job.outputs["passed"] == "false"
    verdict, *rows = annotations(job)
    assert verdict.properties == {"file": "eval/rows.jsonl", "title": "SGI gate: 1 of 1 rules failed"}
    assert [row.properties["line"] for row in rows] == ["1", "2", "3"]
    assert rows[0].properties["title"] == "squad_em >= 0.9: 0.0000"
    assert rows[0].message == "row q0: no"
    assert job.summary.count("<code>q") == 3
    assert Path(job.outputs["report"]).exists()


@pytest.mark.slow
def test_the_annotations_are_bounded_and_the_rules_take_turns(run):
    write_rows(run.workspace / "rows.jsonl", answers(40, wrong=40))
    rules = "squad_em>=0.9\nrouge_l>=0.9\n"
    job = run(metrics="squad_em,rouge_l", rules=rules, gate_options="--worst=20")
    commands = annotations(job)
    assert len(commands) == 10
    assert [command.properties["title"].split()[0] for command in commands[1:5]] == [
        "squad_em",
        "rouge_l",
    ] * 2


@pytest.mark.slow
def test_a_failed_gate_does_not_fail_the_step_that_fails_on_errors(run):
    write_rows(run.workspace / "rows.jsonl", answers(40, wrong=40))
    job = run(metrics="squad_em", rules="squad_em>=0.9", fail_on="error", report_name="")
    assert (job.code, job.outputs["passed"], job.used) == (0, "false", [])
    assert "artifacts" not in job.summary


@pytest.mark.slow
def test_rows_without_a_value_are_annotated_with_the_reason(run):
    rows = answers(20) + [{"id": "late", "question": "When?", "response": "yes"}] * 1
    write_rows(run.workspace / "rows.jsonl", rows)
    job = run(metrics="squad_em", rules="squad_em>=0.5", gate_options="--coverage=100%")
    assert job.code == 4
    (row,) = annotations(job)[1:]
    assert row.properties["line"] == "21"
    assert row.properties["title"] == "squad_em >= 0.5: missing: the sample has no reference"


@pytest.mark.slow
def test_a_baseline_adds_its_difference(run):
    write_rows(run.workspace / "main.jsonl", answers(40))
    write_rows(run.workspace / "rows.jsonl", answers(40, wrong=10))
    database = run.workspace / "runs.db"
    assert (
        sgi(run.workspace, "run", "main.jsonl", "-m", "squad_em", "--name", "main", "--db", database).code
        == 0
    )
    job = run(metrics="squad_em", against="main", max_drop="0.05", database="runs.db")
    assert job.code == 4
    assert "<td>-25.00 pp</td>" in job.summary
    assert "1.0000 → 0.0000" in job.summary


@pytest.mark.parametrize(
    ("inputs", "code", "text"),
    [
        ({"data": "nowhere.jsonl"}, 2, "nowhere.jsonl"),
        ({"rules": "squad_em"}, 2, "is not a rule"),
        ({"rules": ""}, 2, "no rule"),
        ({"against": "nobody", "max_drop": "0.1"}, 2, "nobody"),
        ({"fail_on": "sometimes"}, 2, "fail-on"),
    ],
)
@pytest.mark.slow
def test_an_error_fails_the_step_with_each_value_of_fail_on(run, inputs, code, text):
    write_rows(run.workspace / "rows.jsonl", answers(10))
    job = run(**({"metrics": "squad_em", "rules": "squad_em>=0.5", "fail_on": "error"} | inputs))
    assert job.code == code
    (error,) = [each for each in annotations(job) if each.properties == {"title": "SGI"}]
    assert text in error.message


class Summary(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.outside = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert tag == "a" or not attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" not in self.open:
            self.outside.append(data)


@pytest.mark.slow
def test_hostile_texts_stay_texts(run):
    good = [{"id": str(n), "question": "?", "response": "yes", "reference": "yes"} for n in range(30)]
    bad = [{"id": text, "question": text, "response": text, "reference": "yes"} for text in HOSTILE]
    write_rows(run.workspace / "rows.jsonl", bad + good)
    job = run(metrics="squad_em", rules="squad_em>=0.99", gate_options="--worst=20")
    assert job.code == 4
    assert {command.name for command in job.commands} == {"error"}
    assert {command.properties["file"] for command in job.commands} == {"rows.jsonl"}
    assert [command.properties["line"] for command in job.commands[1:]] == list("123456")
    page = Summary()
    page.feed(job.summary)
    assert (page.open, page.tags) == ([], TAGS - {"ul", "li"} | (page.tags & {"ul", "li"}))
    outside = " ".join(page.outside)
    assert not any(word in outside for word in ("evil", "octocat", "add-mask", "onerror", "#", "|", "`"))
    for table in job.summary.split("<table>")[1:]:
        assert "\n\n" not in table.partition("</table>")[0]  # a blank line would end the HTML block


def test_inputs_are_never_part_of_a_script():
    steps = yaml.safe_load(ACTION.read_text("utf-8"))["runs"]["steps"]
    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    "names",
    [
        ["data", "metrics", "judge", "run_options"],
        ["rules", "against", "max_drop", "gate_options"],
        ["fail_on"],
    ],
)
@pytest.mark.slow
def test_a_hostile_input_runs_nothing(run, names):
    write_rows(run.workspace / "rows.jsonl", answers(10))
    text = "$(touch hacked)`touch hacked`\"; touch hacked; '; touch hacked; \n; touch hacked"
    job = run(**({"metrics": "squad_em", "rules": "squad_em>=0.5"} | dict.fromkeys(names, text)))
    assert job.code == 2, job.log
    assert not list(run.workspace.rglob("hacked"))


def test_the_action_has_the_keys_of_the_schema():
    action = yaml.safe_load(ACTION.read_text("utf-8"))
    assert action.keys() <= {"name", "author", "description", "branding", "inputs", "outputs", "runs"}
    assert all(part.keys() <= {"description", "required", "default"} for part in action["inputs"].values())
    assert all(part.keys() == {"description", "value"} for part in action["outputs"].values())
    steps = action["runs"]["steps"]
    known = {"name", "id", "if", "shell", "run", "env", "uses", "with", "working-directory"}
    assert all(step.keys() <= known and ("uses" in step) != ("run" in step) for step in steps)
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    written = ACTION.read_text("utf-8")
    assert all(f"inputs.{name}" in written for name in action["inputs"])


def test_the_readme_lists_every_input_and_output():
    action = yaml.safe_load(ACTION.read_text("utf-8"))
    page = ACTION.with_name("README.md").read_text("utf-8")
    for name in (*action["inputs"], *action["outputs"]):
        assert f"| `{name}` |" in page, name


def test_a_log_line_is_a_command_only_outside_of_a_stopped_part():
    log = "::error::a\n::stop-commands::x\n::error::b\n##[error]c\n::x::\n text ##[error]d\n"
    assert [command.message for command in obeyed(log)] == ["a", "d"]


def test_github_output_needs_github(tmp_path):
    write_rows(tmp_path / "rows.jsonl", answers(10))
    sgi(tmp_path, "run", "rows.jsonl", "-m", "squad_em", "-q")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        result = sgi(tmp_path, "gate", "last", "squad_em>=0.5", "--github")
    assert (result.code, "GITHUB_STEP_SUMMARY" in result.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["installed", "--help"])
def test_no_module_of_the_repository_is_imported(installed, monkeypatch, package):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    write_rows(installed.workspace / "rows.jsonl", answers(3))
    for name in ("secrets", "json", "logging", "typing"):
        (installed.workspace / f"{name}.py").write_text("raise SystemExit('imported')", "utf-8")
    job = installed(package=package, metrics="rouge_l", rules="rouge_l >= 0", gate_options="--on=mean")
    assert "imported" not in job.log
    assert job.outputs["passed"] == ("true" if package == "installed" else ""), job.log


@pytest.mark.parametrize(
    ("inputs", "requirement"),
    [
        ({"version": "9.9"}, "semantic-grounding-index[judge,parquet]==9.9"),
        ({"package": "--help"}, "'--help'"),
    ],
)
@pytest.mark.slow
def test_the_install_step_asks_for_the_package(installed, monkeypatch, inputs, requirement):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    job = installed(**({"package": ""} | inputs))
    assert job.code == 1
    assert requirement in job.log
