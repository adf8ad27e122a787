#!/usr/bin/env python3
"""The Debian package agrees with the rest of the tree: version, what it is built from, what it installs."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import SOURCE, case, main, run
from wheels import wheels

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


@case("the container has the libraries that the build takes, and the RPM is built from their like")
def _():
    rows = re.findall(r"^module (\S+) *\| \S+ *\| (\S+)$", re.search(r"^build_needs='\n(.*?)'", text("bootstrap"), re.M | re.S).group(1), re.M)
    installed = re.findall(r"\blib\w+", text("contrib/packages/Containerfile").split("FROM ")[2])
    spec = re.findall(r"[\w-]+", " ".join(re.findall(r"^BuildRequires: (.*)", text("contrib/packages/kvfall.spec"), re.M)))
    assert len(rows) >= 10, rows
    for module, fedora in rows:
        name = {"openssl": "ssl", "zlib": "zstd"}.get(module, module)  # zlib is in the base image
        library = "lib" + re.sub("^lib", "", name).split("-")[0]
        assert any(one.startswith(library) for one in installed), (module, installed)
        assert fedora in spec, (fedora, spec)


@case("the workflows: the project's does what .ci/run does, and that for users asks for what the commands have")
def _():
    assert "- run: .ci/run" in text(".github/workflows/ci.yml")
    steps = re.findall(r"run: kvfall (\w+) (.*)", text("contrib/github/kvfall.yml"))
    assert [name for name, _ in steps] == ["run", "compare", "report"], steps
    for name, words in steps:
        options = set(re.findall(r"--[a-z-]+", words))
        known = run(["help", name]).stdout
        assert options and all(option in known for option in options), (name, options)
    written = set(re.findall(r"kvfall\.(?:html|xml)", " ".join(words for _, words in steps)))
    kept = text("contrib/github/kvfall.yml").split("upload-artifact")[1]
    assert written == {"kvfall.html", "kvfall.xml"} == set(re.findall(r"kvfall\.(?:html|xml)", kept)), written


if os.environ.get("KVF_TESTS_LONG"):
    @case("both workflows are such by GitHub's schema")
    def _():
        check = wheels("check-jsonschema==0.39.0") / "bin/check-jsonschema"
        said = subprocess.run([check, "--builtin-schema", "vendor.github-workflows", SOURCE / ".github/workflows/ci.yml",
                               SOURCE / "contrib/github/kvfall.yml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        assert said.returncode == 0 and b"ok" in said.stdout, said.stdout.decode()


@case("tests that the package runs are tests that there are")
def _():
    rules = text("debian/rules")
    named = re.findall(r"[a-z]+/test_[a-z_]+\.py", rules)
    assert named and all((SOURCE / "tests" / path).is_file() for path in named), named


main()
