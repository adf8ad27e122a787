#!/usr/bin/env python3
"""The manual agrees with the program: commands, scenario keys, tables, example queries."""
import contextlib
import pathlib
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from manual import PAGES, written
from tap import SOURCE, case, database, home, main, need_tool, run

FIRST_PAGE_LINES = 250
QUERIES_A_TABLE = 2


def page(name):
    """The source of a page as plain words: the escapes that occur inside names are undone."""
    path = SOURCE / "man" / name
    assert path.is_file(), "man/%s is not there" % name
    text = path.read_text()
    for escape, plain in ((r"\-", "-"), (r"\&", ""), (r"\_", "_"), (r"\(aq", "'"), (r"\(dq", '"'), (r"\(ti", "~"),
                          (r"\e", "\\")):
        text = text.replace(escape, plain)
    return re.sub(r"\\f(\[[^]]*\]|\([^ ]{2}|.)", "", text)


def missing(words, text):
    """The words that do not stand in the text by themselves."""
    return [word for word in words if not re.search(r"(?<![\w.-])%s(?![\w\[-])" % re.escape(word), text)]


def small_run(*more):
    """A run of a few requests on an emulated tier; returns where its database is."""
    got = run(["run", "--headless", "--model", "tiny-1b", "--users", "2", "--max-requests", "4",
               "--gpu", "1GiB", "--cpu", "0", "--nvme", "0", "--set", "tiers.gpu.backend=emulated",
               "--set", "run.warmup=0s", "--set", "run.duration=5s", *more])
    assert got.rc == 0, got
    assert database().is_file(), "no database at %s\n%s" % (database(), got)
    return database()


def metrics_stored():
    """The names of all results of a run with users and documents, of one on a modelled GPU, of one with an autoscaler,
    of one with conversations of a file, of the replay of an I/O trace at a rate, one row of it rejected, of a simulation and of a fleet."""
    trace, dataset = home() / "work/ops.csv", home() / "work/dataset.json"
    dataset.write_text('[{"conversations": [{"from": "human", "value": "?"}, {"from": "gpt", "value": "!"}]}]')
    trace.write_text("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n1,Write,99999,Tier-0,a,Prefill\n"
                     "2,Read,99999,Tier-0,a,Evict\n3,Burn,99999,Tier-0,a,Prefill\n")
    small_run("--rag", "2", "--set", "workload.rag.tokens=[600, 600]")
    small_run("--set", "mode=simulate")
    small_run("--set", "mode=simulate", "--set", "fleet.pods=2", "--set", "fleet.outages=[{pod: 1, at: 100ms, for: 100ms}]")
    small_run("--set", "compute={mode: roofline, gpu: h200}")
    small_run("--max-requests", "0", "--autoscaler", "qos", "--set", "autoscaler.max_users=4", "--set",
              "autoscaler={stage: 20ms, settle: 0s, hold: 0s, when_found: stop}", "--set", "run.interval=10ms", "--set",
              "mode=simulate")
    got = run(["run", "--headless", "--model", "tiny-1b", "--cpu", "64MiB", "--gpu", "0", "--nvme", "0",
               "--set", "workload.source=ops", "--dataset", trace, "--set", "run.warmup=0s",
               "--set", "workload.arrival={process: poisson, rate: 1000}"])
    assert got.rc == 0, got
    got = run(["run", "--headless", "--model", "tiny-1b", "--cpu", "64MiB", "--gpu", "0", "--nvme", "0",
               "--set", "workload.source=sharegpt", "--dataset", dataset, "--set", "run.warmup=0s"])
    assert got.rc == 0, got
    with contextlib.closing(sqlite3.connect(database())) as db:
        return {row[0] for row in db.execute("SELECT DISTINCT metric FROM results")}


MEASURE_WORDS = {"TIER": "(gpu|cpu|nvme|remote)", "DIR": "(read|write)", "STAT": "(mean|p50|p95|p99|p999|p9999|max)",
                 "CAUSE": "(prefill|decode|conversation|prefix|rag|demotion|promotion|precondition)",
                 "SIZE": "(1k|4k|16k|64k)", "CLASS": "(interactive|responsive|batch)", "REASON": "[a-z_]+"}


def schema(path):
    """{table: [columns]} of a database."""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
        names = [row[0] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")]
        return {name: [row[1] for row in db.execute('PRAGMA table_info("%s")' % name)] for name in names}


def queries(text):
    """The example queries of a page: statements in its literal blocks."""
    found = []
    for block in re.findall(r"^\.(?:Bd|EX|nf)\b[^\n]*\n(.*?)^\.(?:Ed|EE|fi)\b", text, re.MULTILINE | re.DOTALL):
        for statement in re.split(r";[ \t]*\n", block + "\n"):
            statement = re.sub(r"^(\.\w+.*|--.*)?\n", "", statement, flags=re.MULTILINE).strip()
            if re.match(r"(SELECT|WITH)\b", statement, re.IGNORECASE):
                found.append(statement)
    return found


for name in PAGES:
    @case("%s is clean under mandoc -T lint" % name)
    def _(name=name):
        mandoc = need_tool("mandoc")
        path = SOURCE / "man" / name
        got = subprocess.run([mandoc, "-T", "lint", "-W", "warning", str(path)], capture_output=True, text=True)
        complaints = [line for line in (got.stdout + got.stderr).splitlines() if "outdated mandoc.db" not in line]
        assert not complaints, "\n" + "\n".join(complaints)


@case("kvfall(1) begins with what to type, and has fewer than %d lines" % FIRST_PAGE_LINES)
def _():
    text = (SOURCE / "man/kvfall.1").read_text()
    assert text.count("\n") < FIRST_PAGE_LINES, text.count("\n")
    assert re.findall(r"^\.Sh (.*)", text, re.MULTILINE)[:3] == ["NAME", "SYNOPSIS", "WHAT TO TYPE"]


@case("the pages refer to each other: every reference has its page, and kvfall(1) names all of them")
def _():
    there = set(PAGES)
    for name in PAGES:
        for to, section in re.findall(r"\bXr (kvfall[\w-]*) (\d)", (SOURCE / "man" / name).read_text()):
            assert "%s.%s" % (to, section) in there, (name, to, section)
    named = {".".join(one) for one in re.findall(r"\bXr (kvfall[\w-]*) (\d)", (SOURCE / "man/kvfall.1").read_text())}
    assert named == there - {"kvfall.1"}, named ^ there


@case("every command of --help stands in kvfall(1), with the page that explains it")
def _():
    got = run(["--help"])
    assert got.rc == 0, got
    section = re.search(r"^commands:?[^\n]*\n((?:[ \t]+\S[^\n]*\n)+)", got.stdout, re.IGNORECASE | re.MULTILINE)
    assert section, "--help has no section Commands\n%s" % got
    indent = min(len(line) - len(line.lstrip()) for line in section.group(1).splitlines())
    commands = re.findall(r"^ {%d}(?:kvfall +)?([a-z]+)\b" % indent, section.group(1), re.MULTILINE)
    assert {"run", "check", "models", "probe", "watch", "history", "show"} <= set(commands), commands
    first = page("kvfall.1")
    assert not missing(commands, first), missing(commands, first)
    pages = dict(re.findall(r"^\.It Cm (\w+).* Xr (kvfall-\w+) 1$", first, re.MULTILINE))
    for command in set(commands) - {"complete", "help"}:
        assert "\n.Nm kvfall %s\n" % command in page(pages[command] + ".1"), (command, pages.get(command))


@case("the formats of export --help stand in kvfall-report(1) and kvfall-export(5)")
def _():
    got = run(["export", "--help"])
    formats = re.findall(r"^ {24}([a-z]+): ", got.stdout, re.MULTILINE)
    section = re.search(r"^\.Ss export\n(.*?)^\.Sh ", page("kvfall-report.1"), re.MULTILINE | re.DOTALL).group(1)
    assert re.findall(r"^\.It Cm (\w+)$", section, re.MULTILINE) == formats and "csv" in formats, (formats, got)
    for name in formats:
        assert re.search(r"^\.Sh %s$" % name.upper(), page("kvfall-export.5"), re.MULTILINE), name


@case("the metrics of kvfall-results(7) are the results of runs")
def _():
    section = re.search(r"^\.Sh METRICS\n(.*?)^\.Sh ", page("kvfall-results.7"), re.MULTILINE | re.DOTALL)
    assert section, "kvfall-results(7) has no section METRICS"
    documented = set(re.findall(r"^\.It Va (\w+)", section.group(1), re.MULTILINE)) - {
        "miss_ratio", "ranks", "rank_hosts", "ranks_lost", "ranks_gather_cpu_ratio", "start_skew_ms", "requests_on_way_at_end",
        "unsettled_ratio", "unanswered_ratio", "class_CLASS_unserved_ranks", "ranks_early", "ranks_copies_left", "ranks_behind", "rows_rejected_ratio", "warmup_counted_s", "stranded_ratio", "fill_ratio", "fill_full_s"}  # of curves, of several ranks, and of a load that still grows alone
    patterns = {word: re.compile(re.sub("|".join(MEASURE_WORDS), lambda part: MEASURE_WORDS[part.group()], word))
                for word in documented}
    stored = metrics_stored()
    absent = [name for name in sorted(stored) if not any(one.fullmatch(name) for one in patterns.values())]
    absent += [word for word in sorted(documented) if not any(patterns[word].fullmatch(name) for name in stored)]
    assert len(stored) > 200 and not absent, "\n" + "\n".join(absent)


@case("the parts of the manual that tables of the program have are what make manual would write")
def _():
    old = [name for name in PAGES if written(name) != (SOURCE / "man" / name).read_text()]
    assert not old, "%s: make manual" % ", ".join(old)


@case("the families of a run's metrics have the labels that kvfall-export(5) names")
def _():
    documented = {name: set(labels.split(" , ")) for name, labels in re.findall(
        r"^\.It Va (kvfall_\w+) Pq \w+(?: by (.*))?$", (SOURCE / "man/kvfall-export.5").read_text(), re.MULTILINE)}
    small_run("--rag", "2", "--set", "workload.rag.tokens=[600, 600]")
    text = run(["export", "latest", "--format", "prometheus"]).stdout
    samples = re.findall(r"^(kvfall_\w+?)(?:_sum|_count)?(?:\{(.*)\})? \S+$", text, re.MULTILINE)
    wrong = ["%s: %s" % (name, label) for name, labels in samples for label in re.findall(r'(\w+)="', labels)
             if label not in documented[name] | {"run_id", "name"}]
    assert len(samples) > 100 and not wrong, "\n" + "\n".join(sorted(set(wrong)))


@case("every tier with the key backend has a list of its backends in kvfall-scenario(5)")
def _():
    text = (SOURCE / "man/kvfall-scenario.5").read_text()
    tiers = re.findall(r"^tiers\.(\w+)\.backend$", run(["check", "--keys"]).stdout, re.MULTILINE)
    assert {"gpu", "remote"} <= set(tiers), tiers
    absent = [tier for tier in tiers if '.\\" begin %s_backends: make manual\n' % tier not in text]
    assert not absent, 'kvfall-scenario.5 has no list of the backends of %s: write \'.\\" begin %s_backends: make manual\', and the same with end' % (
        ", ".join(absent), absent[0])


@case("the commands and options of the pages have the words and arguments of --help")
def _():
    first = page("kvfall.1")
    for command, about in re.findall(r"^  ([a-z]+) +(\S.*)$", run(["--help"]).stdout.split("Options:")[0], re.MULTILINE):
        assert re.search(r"^\.It Cm %s\b.*\n%s\.$" % (command, re.escape(about)), first, re.MULTILINE), (command, about)
    for name in PAGES:
        text = page(name)
        heads = [part for line in re.findall(r"^\.It (Fl .*)", text, re.MULTILINE) for part in re.split(r" , (?=Fl )", line)]
        for command in re.findall(r"^\.Nm kvfall (\w+)$", text, re.MULTILINE):
            options = re.findall(r"^  (?:-[a-z], )?--([a-z-]+)(?: ([^a-z ][^ ]*))?(?:  |$)",
                                 run(["help", command]).stdout, re.MULTILINE)
            for option, argument in options:
                documented = [head.split()[2:] for head in heads if head.split()[1] == "-" + option]
                wrong = [one for one in documented if bool(one) != bool(argument)]
                assert not wrong, (name, command, option, argument, documented)


@case("every table and column of the database stands in kvfall-history(5)")
def _():
    text = page("kvfall-history.5")
    tables = schema(small_run())
    assert "runs" in tables and "intervals" in tables, tables
    absent = missing(sorted(tables), text)
    absent += ["%s.%s" % (table, column) for table, columns in sorted(tables.items())
               for column in missing(columns, text)]
    assert not absent, "\n" + "\n".join(absent)


@case("every action of the autoscaler stands in kvfall-history(5), and no other")
def _():
    documented = re.search(r"^The action: (.*?)\.$", page("kvfall-history.5"), re.MULTILINE | re.DOTALL).group(1)
    documented = re.split(r"[,;] *", re.sub(r"\([^)]*\)", "", " ".join(documented.split())))
    sources = [*(SOURCE / "src/engine/scale").glob("*.c"), SOURCE / "src/engine/scaling.c"]
    calls = [call for path in sources for call in re.findall(
        r"(?:\b(?:seek_act|act|go|note_end)\(|out->action, sizeof out->action,)([^;]*?)\);", path.read_text())]
    taken = {action for call in calls for action in re.findall(r'"([a-z ]+)"', call)}
    assert taken == {action.strip() for action in documented}, (sorted(taken), documented)


@case("the example queries of kvfall-history(5) work, %d at least for every table" % QUERIES_A_TABLE)
def _():
    examples = queries(page("kvfall-history.5"))
    path = small_run()
    tables = schema(path)
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
        for statement in examples:
            if re.search(r"\bhistogram_buckets\(|\bbytes\(", statement):
                continue  # functions of kvfall sql, which tests/cli/test_history_manual.py asks
            try:
                bound = {name: 1 for name in re.findall(r":([a-z_]+)", statement)}
                db.execute(statement, bound).fetchall()
            except sqlite3.Error as error:
                raise AssertionError("%s\n%s" % (error, statement)) from None
    few = [table for table in sorted(tables)
           if sum(1 for text in examples if re.search(r"\b%s\b" % table, text)) < QUERIES_A_TABLE]
    assert not few, "fewer than %d queries for: %s" % (QUERIES_A_TABLE, ", ".join(few))


main()
