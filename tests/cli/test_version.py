#!/usr/bin/env python3
"""The version: of a clone with and without tags, of a tarball, of a tree that lies in somebody else's repository."""
import re
import shutil

from tap import SOURCE, case, home, main, need_tool, run, scratch

SCRIPT = "src/base/version.sh"
RELEASED = "# Changelog\n\nWhat has changed.\n\n## 1.2.3\n\nOne.\n\n## 1.2.2\n\nTwo.\n"
UNRELEASED = RELEASED.replace("## 1.2.3", "## Unreleased\n\nThree.\n\n## 1.2.3", 1)
IDENTITY = {name + part: value for name in ("GIT_AUTHOR_", "GIT_COMMITTER_")
            for part, value in (("NAME", "somebody"), ("EMAIL", "somebody@localhost"))}


def tree(folder, changelog=RELEASED):
    """A source tree as far as its version goes."""
    (folder / "src/base").mkdir(parents=True)
    shutil.copy(SOURCE / SCRIPT, folder / SCRIPT)
    (folder / "CHANGELOG.md").write_text(changelog)
    return folder


def git(folder, *words):
    got = run(["-C", folder, *words], program=need_tool("git"), env=IDENTITY)
    assert got.rc == 0, got
    return got.stdout.strip()


def repository(folder):
    git(folder, "init", "-q")
    git(folder, "add", ".")
    return commit(folder)


def commit(folder):
    """The new commit in seven digits, as many as the version has."""
    git(folder, "commit", "-q", "--allow-empty", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")[:7]


def version(folder, env=None):
    got = run([folder / SCRIPT], program=need_tool("sh"), env=env)
    assert got.rc == 0 and got.stderr == "" and got.stdout.endswith("\n"), got
    return got.stdout[:-1]


@case("a clone without tags: the newest number of the changelog and the commit")
def _():
    for changelog in (RELEASED, UNRELEASED):
        folder = tree(scratch("clone"), changelog)
        last = repository(folder)
        assert version(folder) == "1.2.3+g" + last


@case("tags: the number alone at its commit, commits since then behind a +, changed files at the end")
def _():
    folder = tree(scratch("clone"))
    repository(folder)
    git(folder, "tag", "v2.0.0")
    git(folder, "tag", "nightly")
    assert version(folder) == "2.0.0"
    (folder / "CHANGELOG.md").write_text(UNRELEASED)
    assert version(folder) == "2.0.0+dirty"
    git(folder, "checkout", "-q", ".")
    commit(folder)
    last = commit(folder)
    assert version(folder) == "2.0.0+2.g" + last
    (folder / "notes").touch()  # which no commit knows
    assert version(folder) == "2.0.0+2.g" + last
    (folder / "CHANGELOG.md").write_text(UNRELEASED)
    assert version(folder) == "2.0.0+2.g" + last + ".dirty"
    git(folder, "checkout", "-q", ".")
    git(folder, "tag", "-a", "-m", "candidate", "v2.1.0-rc-1")
    assert version(folder) == "2.1.0-rc-1"
    assert version(folder) == "2.1.0-rc-1"  # and asking changes nothing


@case("a shallow clone has no tag to count from and a worktree has all of them")
def _():
    folder, shallow, beside = tree(scratch("clone")), scratch("shallow") / "tree", scratch("beside") / "tree"
    repository(folder)
    git(folder, "tag", "v1.9.0")
    last = commit(folder)
    git(folder, "clone", "-q", "--depth", "1", "file://%s" % folder, shallow)
    git(folder, "worktree", "add", "-q", beside)
    assert version(shallow) == "1.2.3+g" + last
    assert version(beside) == "1.9.0+1.g" + last


@case("a tarball has its version with it, in another repository too")
def _():
    around = scratch("around")
    (around / "file").touch()
    repository(around)
    git(around, "tag", "v9.9.9")
    inside = tree(around / "kvfall")
    (inside / ".tarball-version").write_text("1.2.3+4.g0123abc\n")
    assert version(inside) == "1.2.3+4.g0123abc"
    git(around, "add", ".")
    commit(around)
    assert version(inside) == "1.2.3+4.g0123abc"


@case("files alone, without git or in somebody else's: the changelog, and whether it has begun anew")
def _():
    around = scratch("around")
    (around / "file").touch()
    repository(around)
    git(around, "tag", "v9.9.9")
    assert version(tree(around / "kvfall")) == "1.2.3"
    alone = tree(scratch("alone"), UNRELEASED)
    assert version(alone) == "1.2.3+unreleased"
    assert version(alone, env={"GIT_DIR": around / ".git"}) == "1.2.3+unreleased"  # as a hook of another repository has it
    assert version(alone, env={"PATH": without_git()}) == "1.2.3+unreleased"


def without_git():
    tools = home() / "tools"
    tools.mkdir()
    for name in ("dirname", "sed", "head"):
        (tools / name).symlink_to(need_tool(name))
    return tools


@case("the program tells the version of the tree it was built from")
def _():
    got = run(["--version"])
    told = re.match(r"kvfall (\S+)\n", got.stdout)
    assert told and told.group(1).replace("+dirty", "").replace(".dirty", "") == \
        version(SOURCE).replace("+dirty", "").replace(".dirty", ""), got


main()
