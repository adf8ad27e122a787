#!/usr/bin/env python3
"""Completion: what `kvfall complete` answers, and what bash and zsh make of it on a terminal."""
import contextlib
import fcntl
import os
import re
import shutil
import sqlite3
import struct
import termios
import threading

from histories import add_run, insert, make
from tap import BUILD, KVFALL, SOURCE, case, database, home, main, need_tool, run, scratch, spawn, wait_until

SCRIPTS = SOURCE / "contrib/completion"


def answer(*words, **how):
    got = run(["complete", "--", *words], **how)
    assert got.rc == 0 and got.stderr == "", got
    return got.stdout.splitlines()


def words(*line, **how):
    """What is offered for the last word, without phrases and instructions."""
    return [one.split("\t")[0] for one in answer(*line, **how) if not one.startswith(":")]


# The program. -------------------------------------------------------------------------------------


@case("commands, and those that go on with what was typed")
def _():
    listed = re.findall(r"^  ([a-z]+) +\w", run(["--help"]).stdout.split("Commands:")[1].split("Options:")[0], re.M)
    assert words("") == listed and len(listed) > 15
    assert words("su") == ["suite"] and words("--no-color", "su") == ["suite"]
    assert answer("hi") == ["history\tlist the runs of the database, newest first"]
    assert words("nonsense", "") == words("suite ", "") == words("xyz") == []
    assert words("--v") == ["--version"]
    assert words() == words("")


@case("every command: its options are those of its help")
def _():
    for command in words(""):
        shown = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", run([command, "--help"]).stdout, re.M)
        assert words(command, "-") == shown, command
    assert words("run", "--", "-") == [] and words("run", "--db", "-") == []


@case("values of options with a fixed set, behind a space and behind =")
def _():
    for line, expected in ((["run", "--theme"], ["dark", "light", "mono", "colour-blind", "colour-blind-light"]),
                           (["history", "--status"], ["running", "completed", "interrupted", "failed", "crashed"]),
                           (["history", "--mode"], ["real", "simulate"]),
                           (["sweep", "--profile"], ["latency", "throughput"]),
                           (["run", "--autoscaler"], ["off", "qos", "capacity"])):
        assert words(*line, "") == expected, line
        assert words(*line[:-1], line[-1] + "=") == [line[-1] + "=" + value for value in expected], line
        if line[0] == "history":
            assert all(run([*line, value]).rc == 0 for value in expected), line
    assert words("run", "--theme", "l") == ["light"] and words("run", "--theme=l") == ["--theme=light"]
    formats = words("export", "--format", "")
    listed = re.findall(r"^ {24}([a-z0-9-]+): ", run(["export", "--help"]).stdout, re.M)
    assert formats == listed != [] and words("export", "--format=c") == ["--format=csv"]
    assert not answer("export", "--fo")[0].endswith(":")  # the help goes on with a list of them
    views = words("watch", "--view", "")
    assert {"overview", "tiers", "queue"} <= set(views)
    for column in words("history", "--sort", ""):
        assert run(["history", "--sort", column]).rc == 0, column


@case("metrics behind compare --metric: the usual ones, and all that begin with what was typed")
def _():
    usual = words("compare", "1", "2", "--metric", "")
    assert {"throughput_tok_s", "e2e_p95_ms"} < set(usual) and "nvme_read_p9999_ms" not in usual, usual
    found = words("compare", "1", "2", "--metric", "nvme_read_p9")
    assert found == ["nvme_read_%s_ms" % level for level in ("p95", "p99", "p999", "p9999")], found
    assert words("compare", "1", "2", "--metric", "requests_do") == [], "requests done are neither good nor bad"


@case("keys behind --set are those of check --keys that have a name of their own; choices are their values")
def _():
    keys = [key + "=" for key in run(["check", "--keys"]).stdout.split() if "[]" not in key]
    assert words("run", "--set", "") == keys and answer("run", "--set", "")[0] == ":open"
    assert words("run", "--set", "tiers.cpu.hu") == ["tiers.cpu.huge_pages="]
    assert words("run", "--set", "tiers.cpu.huge_pages=") == ["tiers.cpu.huge_pages=true", "tiers.cpu.huge_pages=false"]
    assert words("run", "--set=mode=s") == ["--set=mode=simulate"]
    assert words("run", "--set", "model=tiny") == ["model=tiny-1b"]
    assert words("run", "--set", "no.such.key=") == words("run", "--set", "workload.users=") == []
    tried = [value for key in ("cache.placement", "cache.eviction", "tiers.gpu.backend") for value in words("run", "--set", key + "=")]
    assert len(tried) > 10, tried
    for value in tried:
        got = run(["check", "--force", "--set", value])
        assert got.rc == 0 or "is not one of" not in got.stderr and "not available" not in got.stderr, got


@case("models, tests and groups of the suite, topics of help")
def _():
    table = re.findall(r"^\S.*", run(["models"]).stdout, re.MULTILINE)[1:]
    assert words("models", "") == words("run", "--model", "") == [line.split()[0] for line in table]
    named = set(re.findall(r"^  ([a-z0-9-]+) ", run(["suite", "--list"]).stdout, re.M))
    offered = words("suite", "")
    assert named <= set(offered) and set(offered) - named == {"suite", "mlperf", "smoke", "tiers"}, offered
    assert words("suite", "gpu-only", "tiers-n") == ["tiers-nvme"], "operands that are repeated"
    assert answer("suite", "--duration", "prod") == [":open", "production=\tsuite"]
    assert "keys" in words("help", "") and "run" in words("help", "")


@case("where files stand it says so, with their endings")
def _():
    assert answer("run", "") == answer("check", "x") == answer("models", "tiny-1b", "") == [":files yaml yml"]
    assert answer("run", "a.yaml", "--json", "o") == answer("run", "--io-trace=x") == answer("export", "-o", "") == [":files"]
    assert answer("run", "--cache-dir", "") == [":files"] and answer("suite", "--path", "") == [":directories"]
    assert answer("merge", "") == answer("merge", "a.db", "") == answer("show", "--db", "") == [":files db"]
    assert words("run", "a.yaml", "b") == [], "one argument at most"
    assert answer("run", "--rag", "10", "") == answer("run", "--rag", "") == [":files yaml yml"]
    assert answer("sql", "SELECT ") == []
    assert words("prune", "") == words("prune", "-"), "where nothing else can stand, options"


def past():
    """A history of three runs."""
    with make() as db:
        add_run(db, "quickstart", model="tiny-1b", tags="lab,night")
        add_run(db, "two words")
        add_run(db, "quickstart", host="rack2")


@case("runs by id, name and latest, of the database that the line names; none is made")
def _():
    assert words("show", "") == words("show", "-") and not database().exists()
    past()
    assert words("show", "") == ["latest", "quickstart", "two words", "3", "2", "1"]
    assert words("show", "la") == ["latest", "latest~1", "latest~2"]
    assert words("delete", "1", "") == words("show", "") and words("show", "tw") == ["two words"]
    for reference in words("show", "") + words("show", "latest"):
        assert run(["show", reference]).rc == 0, reference
    assert words("history", "--tag", "") == ["lab", "night"] == words("tag", "1", "")
    assert words("history", "--name", "") == ["quickstart", "two words"]
    assert words("history", "--host", "r") == ["rack2"]
    for line in (["show", "--db", "none.db", ""], ["show", "--db=none.db", ""]):
        assert not set(words(*line)) & {"latest", "1"}, line
    assert words("show", "--db", database(), "q") == ["quickstart"] == words("show", "q")
    assert words("show", "--db", database(), "q", env={"KVFALL_DB": "none.db"}) == ["quickstart"]
    assert not (home() / "work/none.db").exists()


@case("sweeps and suites, where a command takes them for runs")
def _():
    past()
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as db:
        insert(db, "sweeps", sweep_id=7, uuid="s7", name="sizes", profile="keys", status="completed")
    for command in ("export", "report"):
        assert words(command, "") == words("show", "") + ["sweep:7"], command
        assert answer(command, "sw") == ["sweep:7\tsizes: keys completed"]
        assert words(command, "su") == ["suite:"] and ":open" in answer(command, "su")
        assert words(command, "suite:qu") == ["suite:quickstart"]
    assert words("show", "s") == words("delete", "s") == []
    if shutil.which("bash"):
        shell = bash()
        assert shell.line("kvfall report sw\t") == "kvfall report sweep:7 "
        assert shell.line("kvfall report suite:qu\t") == "kvfall report suite:quickstart "
        shell.leave()


@case("names that a line of a shell cannot hold are left out; a history that is none says nothing")
def _():
    with make() as db:
        for name in ("a\tb", "new\nline", "\x1b[31mred", ":open", "plain"):
            add_run(db, name, model="m\x1b]0;title\x07")
    assert words("show", "") == ["latest", "plain", "5", "4", "3", "2", "1"]
    assert all(ord(letter) >= 32 for line in answer("show", "") for letter in line.replace("\t", ""))
    (home() / "work/other.db").write_text("no database at all, whatever its name is\n" * 20)
    assert words("show", "--db", "other.db", "l") == []


@case("a database that somebody keeps locked is not waited for long")
def _():
    past()
    keeper = sqlite3.connect(database(), isolation_level=None)
    keeper.execute("PRAGMA journal_mode = DELETE")
    keeper.execute("BEGIN EXCLUSIVE")
    assert words("show", "q") == []  # SQLite would wait for ten seconds; run() would wait for them too
    keeper.execute("COMMIT")
    keeper.close()


@case("lines of any length, and the command's own errors")
def _():
    line = ["suite", *["gpu-only"] * 400]
    assert words(*line, "mlp")[0].startswith("mlperf")
    got = run(["complete", "--no-such"])
    assert got.rc == 2 and "complete has no option --no-such" in got.stderr, got
    assert run(["complete", "hist"]).stdout == run(["complete", "--", "hist"]).stdout != ""


# The shells. --------------------------------------------------------------------------------------


class Shell:
    """A shell on a terminal of its own. line() types text and returns the line as it stands then."""

    def __init__(self, program, options, setup, env=None):
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self._line, self.seen = home() / "line", b""
        folder = home() / "bin"
        folder.mkdir(exist_ok=True)
        if not (folder / "kvfall").exists():
            (folder / "kvfall").symlink_to(KVFALL)
        paths = {"PATH": "%s:%s" % (folder, os.environ["PATH"]), "TERM": "xterm", "LINE": self._line, "PS1": "> ",
                 "INPUTRC": "/dev/null", "HISTFILE": None, "ZDOTDIR": home(), **(env or {})}
        self._process = spawn(options, env=paths, program=program, stdin=theirs, stdout=theirs, stderr=theirs,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        threading.Thread(target=self._read, daemon=True).start()
        self.type(setup + "\n: >$LINE\n")
        wait_until(self._line.exists, what="the shell's prompt")

    def _read(self):
        while True:
            try:
                part = os.read(self._ours, 65536)
            except OSError:
                return
            self.seen += part

    def type(self, text):
        os.write(self._ours, text.encode())

    def line(self, text):
        """Ctrl-T has the shell write down its line; Ctrl-U clears it."""
        self._line.write_text("")
        self.type("\x15" + text + "\x14")
        wait_until(lambda: self._line.read_text().endswith("\n"), what="the line of %r" % text)
        return self._line.read_text()[:-1]

    def leave(self):
        self.type("\x15exit\n")
        self._process.wait(20)
        os.close(self._ours)


def bash(setup=None, **how):
    return Shell(need_tool("bash"), ["--norc", "--noprofile", "-i"], "bind -x '\"\\C-t\": printf \"%s\\n\" \"$READLINE_LINE\" >\"$LINE\"'\n"
                 "bind 'set completion-query-items 0'\n" + (setup or "source '%s'" % (SCRIPTS / "kvfall")), **how)


def zsh(setup="", **how):
    return Shell(need_tool("zsh"), ["-f", "-i"], "fpath=('%s' $fpath); autoload -Uz compinit; compinit -u -D\n"
                 "written() { print -r -- $BUFFER >$LINE }; zle -N written; bindkey -e; bindkey '^T' written\n"
                 "setopt no_list_beep; unsetopt auto_menu\n%s" % (SCRIPTS, setup), **how)


def files():
    work = home() / "work"
    (work / "plans").mkdir()
    for name in ("plans/night.yaml", "plans/notes.txt", "my load.yml"):
        (work / name).touch()


# What is typed before the tabulator, and the line after it.
SAME = [
    ("kvfall his", "kvfall history "),
    ("kvfall run --thr", "kvfall run --thr"),
    ("kvfall run --them", "kvfall run --theme "),
    ("kvfall run --theme li", "kvfall run --theme light "),
    ("kvfall run --theme=li", "kvfall run --theme=light "),
    ("kvfall history --status comp", "kvfall history --status completed "),
    ("kvfall run --set workload.arrival.sp", "kvfall run --set workload.arrival.speedup="),
    ("kvfall run --set mode=sim", "kvfall run --set mode=simulate "),
    ("kvfall run --set=mode=sim", "kvfall run --set=mode=simulate "),
    ("kvfall run --model llama3.1-70", "kvfall run --model llama3.1-70b-instruct "),
    ("kvfall suite gpu-only tiers-n", "kvfall suite gpu-only tiers-nvme "),
    ("kvfall run plans/", "kvfall run plans/night.yaml "),
    ("kvfall run my", "kvfall run my\\ load.yml "),
    ("kvfall run --json=plans/no", "kvfall run --json=plans/notes.txt "),
    ("kvfall run --json plans/no", "kvfall run --json plans/notes.txt "),
    ("kvfall suite --path pl", "kvfall suite --path plans/"),
    ("kvfall show quick", "kvfall show quickstart "),
    ("kvfall show tw", "kvfall show two\\ words "),
    ("kvfall show two\\ w", "kvfall show two\\ words "),
    ("kvfall show --db 'none.db' quick", "kvfall show --db 'none.db' quick"),
    ("kvfall report suite:two", "kvfall report suite:two\\ words "),
    ("./kvfall his", "./kvfall history "),
    ("kvfall run > plans/no", "kvfall run > plans/notes.txt "),
]


def same_lines(shell):
    (home() / "work/kvfall").symlink_to(KVFALL)
    for typed, expected in SAME:
        got = shell.line(typed + "\t")
        assert got == expected, "%r became %r" % (typed, got)


@case("bash: the line after a tabulator")
def _():
    files()
    past()
    shell = bash()
    same_lines(shell)
    assert shell.line('kvfall show "tw\t') == 'kvfall show "two words" '
    assert shell.line("kvfall show la end" + "\x1b[D" * 4 + "\t") == "kvfall show latest end"
    shell.line("kvfall history --status \t\t")
    wait_until(lambda: re.search(rb"completed +\S+ +.*running", shell.seen, re.S), what="the list of all")
    shell.leave()


@case("bash: a line that is divided at spaces alone")
def _():
    files()
    shell = bash("source '%s'; COMP_WORDBREAKS=$' \\t\\n'" % (SCRIPTS / "kvfall"))
    for typed, expected in SAME[3:10]:
        assert shell.line(typed + "\t") == expected, typed
    shell.leave()


@case("bash-completion finds the installed file by itself")
def _():
    loader = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(loader):
        need_tool("bash-completion")
    data = scratch("data")
    (data / "bash-completion/completions").mkdir(parents=True)
    (data / "bash-completion/completions/kvfall").symlink_to(SCRIPTS / "kvfall")
    shell = bash("source " + loader, env={"XDG_DATA_DIRS": "%s:/usr/share" % data})
    assert shell.line("kvfall his\t") == "kvfall history "
    assert shell.line("kvfall run --theme=li\t") == "kvfall run --theme=light "
    shell.leave()


@case("zsh: the line after a tabulator, and the phrases beside what it lists")
def _():
    files()
    past()
    shell = zsh()
    same_lines(shell)
    shell.line("kvfall v\t\t")
    wait_until(lambda: re.search(rb"vacuum +-- give the space of deleted runs ba", shell.seen), what="the list of commands")
    shell.leave()


main()
