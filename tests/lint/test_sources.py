#!/usr/bin/env python3
"""Makefile.am names every file there is, and nothing that is not there."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import SOURCE, case, main


def variables():
    """The lists of Makefile.am: {name: [words]}."""
    text = re.sub(r"\\\n", " ", (SOURCE / "Makefile.am").read_text())
    found = {}
    for name, operator, words in re.findall(r"^(\w+)[ \t]*(\+?=)[ \t]*(.*)$", text, re.MULTILINE):
        found[name] = (found.get(name, []) if operator == "+=" else []) + words.split()
    return found


LISTS = variables()


def present(*patterns):
    return {str(path.relative_to(SOURCE)) for pattern in patterns for path in SOURCE.glob(pattern)}


def compare(name, there):
    listed = [word for one in LISTS.get(name, []) for word in (LISTS.get(one[2:-1], [one]) if one[:2] == "$(" else [one])]
    problems = ["add to %s: %s" % (name, path) for path in sorted(there - set(listed))]
    problems += ["%s names %s, which is not there" % (name, path) for path in sorted(set(listed) - there)]
    problems += ["%s names %s twice" % (name, path) for path in sorted(set(listed)) if listed.count(path) > 1]
    assert not problems, "\n" + "\n".join(problems)


for folder in sorted({str(path.parent.relative_to(SOURCE)) for top in ("src", "ui") for path in (SOURCE / top).rglob("*.[ch]")}):
    @case("the files of %s are listed" % folder)
    def _(folder=folder):
        compare(folder.removeprefix("src/").replace("/", "_") + "_sources", present(folder + "/*.[ch]"))


@case("unit_tests is what stands in tests/unit")
def _():
    compare("unit_tests", {path[:-2] for path in present("tests/unit/*/test_*.c")})
    compare("unit_helpers", present("tests/unit/**/*.[ch]") - present("tests/unit/*/test_*.c"))


@case("every unit test speaks TAP: without it no case of it is counted")
def _():
    assert "CM_OUTPUT_TAP" in (SOURCE / "tests/unit/policy_fixture.h").read_text().split("#define POLICY_TESTS(")[1]
    silent = [path for path in sorted(present("tests/unit/*/test_*.c"))
              if not re.search(r"CM_OUTPUT_TAP|^POLICY_TESTS\(", (SOURCE / path).read_text(), re.M)]
    assert not silent, silent


@case("a unit test that is skipped says why")
def _():
    silent = []
    for path in sorted(SOURCE.glob("tests/unit/**/*.c")):
        lines = path.read_text().split("\n")
        for n, line in enumerate(lines):
            said = "published_find" in line or any('"skip: ' in one for one in lines[max(0, n - 4):n])
            if re.search(r"\bskip\(\);", line) and not said:
                silent.append("%s:%d" % (path.relative_to(SOURCE), n + 1))
    assert not silent, silent


@case("script_tests is what stands in tests")
def _():
    compare("script_tests", present("tests/*/test_*.py"))


@case("every module of the test scripts is listed")
def _():
    compare("test_modules", present("tests/cli/*.py", "tests/faults/*.py", "tests/lint/*.py", "tests/tui/*.py") - present("tests/*/test_*.py"))


@case("fuzz_programs and fuzz_helpers are what stands in tests/fuzz, each program with its libraries")
def _():
    programs = {path[:-2] for path in present("tests/fuzz/fuzz_*.c")}
    compare("fuzz_programs", programs)
    compare("fuzz_helpers", present("tests/fuzz/*.[ch]") - present("tests/fuzz/fuzz_*.c"))
    bare = [path for path in sorted(programs) if (LISTS.get(path.replace("/", "_") + "_LDADD") or [])[-1:] != ["$(fuzz_libs)"]]
    assert not bare, bare


@case("bench_programs and bench_scripts are what stands in tests/bench")
def _():
    compare("bench_programs", {path[:-2] for path in present("tests/bench/*.c")})
    compare("bench_scripts", present("tests/bench/*.py", "tests/bench/*.sh"))


@case("dist_man_MANS is what stands in man")
def _():
    compare("dist_man_MANS", present("man/*.[1-9]"))


@case("nobase_dist_pkgdata_DATA is what stands in configs")
def _():
    compare("nobase_dist_pkgdata_DATA", present("configs/**/*.yaml"))


main()
