#!/usr/bin/env python3
"""The Debian package agrees with the rest of the tree: version, what it is built from, what it installs."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import SOURCE, case, main

# What every Debian build has: build-essential, and debhelper for the files that autoreconf makes.
ALWAYS = {"gcc", "libc6-dev", "make", "autoconf", "automake"}


def text(path):
    return (SOURCE / path).read_text()


def needs(table):
    """The Debian packages of a table of bootstrap."""
    rows = re.search(r"^%s='\n(.*?)'" % table, text("bootstrap"), re.MULTILINE | re.DOTALL).group(1)
    return {row.split("|")[1].strip() for row in rows.splitlines()}


def build_depends():
    """Those of debian/control in two sets: to build, and to test."""
    field = re.search(r"^Build-Depends:(.*?)^\S", text("debian/control"), re.MULTILINE | re.DOTALL).group(1)
    rows = [row.strip() for row in field.split(",") if row.strip()]
    tests = {row for row in rows if "<!nocheck>" in row}
    return tuple({re.match(r"[a-z0-9.+-]+", row).group() for row in group} for group in (set(rows) - tests, tests))


@case("debian/control builds from what bootstrap installs")
def _():
    build, tests = build_depends()
    assert build - {"debhelper-compat", "libopenmpi-dev"} == needs("build_needs") - ALWAYS, build ^ needs("build_needs")
    assert tests <= needs("check_needs"), tests - needs("check_needs")
    assert {"libcmocka-dev", "python3"} <= tests  # else configure leaves the tests out


@case("the newest version of debian/changelog is that of CHANGELOG.md")
def _():
    package = re.match(r"kvfall \(([^)]+)\) ", text("debian/changelog")).group(1)
    ours = re.search(r"^## (\d\S*)", text("CHANGELOG.md"), re.MULTILINE).group(1)
    assert package == ours, (package, ours)


@case("tests that the package runs are tests that there are")
def _():
    rules = text("debian/rules")
    named = re.findall(r"[a-z]+/test_[a-z_]+\.py", rules)
    assert named and all((SOURCE / "tests" / path).is_file() for path in named), named


main()
