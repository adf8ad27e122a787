#!/usr/bin/env python3
"""The user's own file of settings: what `kvfall config` lists, what is refused, and what `run` takes from it."""
import json
import re

from runs import last_run, write
from tap import case, home, main, run


def put(text):
    path = home() / ".config/kvfall/config"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def values(**how):
    got = run(["config", "--json"], **how)
    assert got.rc == 0 and got.stderr == "", got
    return {row["key"]: (row["value"], row["from"]) for row in json.loads(got.stdout)}


@case("without a file every key is listed with its default, and the file is named")
def _():
    got = run(["config"])
    assert got.rc == 0 and ".config/kvfall/config (not there: all is default)" in re.sub(r"\s+", " ", got.stdout), got
    listed = values()
    assert {"theme", "view", "window", "zoom", "sort", "columns", "run.include", "run.fit"} <= set(listed)
    assert listed["window"] == ("10s", "default") and listed["theme"] == (None, "terminal")
    assert not (home() / ".config/kvfall").exists()


@case("each value has its origin: the line, or the variable that wins over it")
def _():
    put("theme: light\n\nwindow: 60 s\ncolumns: [user, age]\nrun:\n  fit: true\n")
    listed = values()
    assert listed["theme"] == ("light", "line 1") and listed["window"] == ("60s", "line 3")
    assert listed["columns"] == ("user,age", "line 4") and listed["run.fit"] == ("true", "line 6")
    assert values(env={"KVFALL_THEME": "mono"})["theme"] == ("mono", "KVFALL_THEME")


@case("XDG_CONFIG_HOME moves the file; a relative one counts for nothing")
def _():
    other = home() / "other"
    (other / "kvfall").mkdir(parents=True)
    (other / "kvfall/config").write_text("view: log\n")
    assert values(env={"XDG_CONFIG_HOME": other})["view"] == ("log", "line 1")
    assert values(env={"XDG_CONFIG_HOME": "other"}, cwd=home())["view"] == ("overview", "default")


@case("what is wrong has its file, line and column, in every command that reads it, before anything is done")
def _():
    for text, expected in (("theem: light\n", "config:1:1: there is no key \"theem\"; did you mean \"theme\"?"),
                           ("\ntheme: puce\n", "config:2:8: theme is dark, light, mono, colour-blind or "),
                           ("run: {include: here.yaml}\n", "run.include is a path that begins with / or ~/"),
                           ("run: {users: 5}\n", "there is no key \"run.users\""),
                           ("view: log\nview: log\n", "config:2:1: view is set twice, here and in line 1"),
                           ("- theme\n", "must be keys and values"), ("theme: [\n", "config:2:1: ")):
        put(text)
        for words in (["config"], ["run", "--set", "mode=simulate", "--headless"], ["watch", "--dump"]):
            got = run(words)
            assert got.rc == 2 and expected in got.stderr and got.stdout == "", (words, got)
    assert not (home() / ".local/share/kvfall").exists()


@case("run takes its options from the file, what is typed wins, and keys stay below the scenario's")
def _():
    write({"mode": "simulate", "run.duration": "2s", "seed": 5})
    defaults = home() / "defaults.yaml"
    defaults.write_text("seed: 9\nengine: {slots: 3}\n")
    put("run: {include: ~/defaults.yaml, quiet: true}\n")
    got = run(["run", "small.yaml", "--headless"])
    assert got.rc == 0 and got.stderr == "", got
    effective = json.loads(last_run()["effective_json"])
    assert effective["seed"] == 5 and effective["engine"]["slots"] == 3
    more = home() / "more.yaml"
    more.write_text("engine: {slots: 4}\n")
    assert run(["run", "small.yaml", "--headless", "--include", str(more)]).rc == 0
    assert json.loads(last_run()["effective_json"])["engine"]["slots"] == 4
    assert run(["check", "small.yaml"]).rc == 0  # others take nothing from it


main()
