#!/usr/bin/env python3
"""What `make install`, `make uninstall` and a tarball do with the tree that was built."""
import gzip
import os
import re
import subprocess

from tap import BUILD, KVFALL, SOURCE, Skip, case, environment, home, main, need_tool, run, scratch

PREFIX = "/opt/kvfall"
PLACES = {"prefix": PREFIX, "exec_prefix": PREFIX, "bindir": PREFIX + "/bin", "datarootdir": PREFIX + "/share",
          "datadir": PREFIX + "/share", "libdir": PREFIX + "/lib", "mandir": PREFIX + "/share/man",
          "bashcompletiondir": PREFIX + "/share/bash-completion/completions",
          "zshcompletiondir": PREFIX + "/share/zsh/site-functions"}
PAGES = ["man/%s" % path.name for path in (SOURCE / "man").glob("*.[1-9]")]
CONFIGS = [str(path.relative_to(SOURCE)) for path in (SOURCE / "configs").rglob("*.yaml")]
CONTRIB = [str(path.relative_to(SOURCE)) for path in (SOURCE / "contrib").rglob("*")
           if path.is_file() and path.parent.name not in ("completion", "github", "packages", "__pycache__")]


def make(*words, **variables):
    """A target of the build; what was built stays as it is, other tests use it."""
    if not (BUILD / "Makefile").exists():
        raise Skip("there is no Makefile in %s" % BUILD)
    got = run(["-C", BUILD, "-s", "-o", "version.c", *words,
               *("%s=%s" % (name, value) for name, value in {**PLACES, **variables}.items())], program=need_tool("make"))
    assert got.rc == 0, got
    return got


def there(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def expected():
    """Where files are to stand, by what they come from."""
    places = {"share/man/man%s/%s" % (page[-1], os.path.basename(page)): page for page in PAGES}
    places.update(("share/kvfall/" + path, path) for path in CONFIGS + CONTRIB)
    places["share/bash-completion/completions/kvfall"] = "contrib/completion/kvfall"
    places["share/zsh/site-functions/_kvfall"] = "contrib/completion/_kvfall"
    if (BUILD / "kvfall-mpi.so").exists():  # where configure has found MPI
        places["lib/kvfall/kvfall-mpi.so"] = BUILD / "kvfall-mpi.so"
    return places


@case("install puts everything below DESTDIR and the prefix, and nothing else; uninstall takes it away")
def _():
    destination = scratch("a place")  # with a space in its name
    make("install", DESTDIR=destination)
    places = expected()
    root = destination / PREFIX[1:]
    assert len(PAGES) >= 3 and len(CONFIGS) > 30 and len(CONTRIB) >= 5
    assert there(destination) == {PREFIX[1:] + "/" + path for path in [*places, "bin/kvfall"]}, \
        sorted(there(root) ^ {*places, "bin/kvfall"})
    for path, source in places.items():
        assert (root / path).read_bytes() == (SOURCE / source).read_bytes(), path
        assert (root / path).stat().st_mode & 0o777 == (0o755 if path.endswith(".py") else 0o644), path
    assert (root / "bin/kvfall").stat().st_mode & 0o777 == 0o755
    make("install", DESTDIR=destination)  # again, over it
    (root / "share/kvfall/configs/suite/mine.yaml").touch()
    make("uninstall", DESTDIR=destination)
    assert there(destination) == {PREFIX[1:] + "/share/kvfall/configs/suite/mine.yaml"}, there(destination)
    make("install", DESTDIR=destination)
    (root / "share/kvfall/configs/suite/mine.yaml").unlink()
    make("uninstall", DESTDIR=destination)
    assert not there(destination) and not (root / "share/kvfall").exists()


@case("the installed program: its scenarios, its suite, its completion, from anywhere")
def _():
    destination, elsewhere = scratch("installed"), scratch("elsewhere")
    make("install", DESTDIR=destination)
    root = destination / PREFIX[1:]
    program = root / "bin/kvfall"

    def installed(*words):
        got = run(words, program=program, cwd=elsewhere)
        assert got.rc == 0, got
        return got.stdout

    assert installed("--version") == run(["--version"]).stdout
    assert "name: three-tier" in installed("check", "--fit", root / "share/kvfall/configs/three-tier.yaml")
    assert installed("suite", "--list") == run(["suite", "--list"]).stdout
    shell = subprocess.run([need_tool("bash"), "-c", 'source "$1"; COMP_WORDS=("$2" his) COMP_CWORD=1 COMP_LINE="$2 his" '
                            'COMP_POINT=${#COMP_LINE}; _kvfall "$2" his "$2"; echo "${COMPREPLY[*]}"', "bash",
                            str(root / "share/bash-completion/completions/kvfall"), str(program)],
                           capture_output=True, text=True, env=environment(), cwd=elsewhere)
    assert (shell.stdout, shell.stderr) == ("history\n", ""), shell
    manual = run([root / "share/man/man1/kvfall.1"], program=need_tool("mandoc"))
    assert manual.rc == 0 and "KVFALL(1)" in manual.stdout, manual
    harness = run([root / "share/kvfall/contrib/mlpstorage/mlperf_wrapper.py", "--option", "3", "--base-output-dir",
                   "out", "--cache-dir", "cache", "--", "--model", "tiny-1b", "--users", "2", "--duration", "100s", "--max-requests", "5",
                   "--nvme", "256MiB"],
                  env={"KVFALL": program}, program=need_tool("python3"))
    results = list((home() / "work/out/rank_0").glob("kvcache_results_*.json"))
    assert harness.rc == 0 and len(results) == 1 and '"name": "mlperf-closed-3"' in results[0].read_text(), harness
    assert there(elsewhere) == set()


@case("the Debian package's own test passes on what is installed, with pages packed as Debian packs them")
def _():
    destination = scratch("installed")
    make("install", DESTDIR=destination)
    root = destination / PREFIX[1:]
    for page in root.glob("share/man/man*/*"):
        page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes()))
        page.unlink()
    need_tool("mandoc")
    got = run([SOURCE / "debian/tests/smoke"], program=need_tool("sh"),
              env={"KVFALL_USR": root, "AUTOPKGTEST_TMP": scratch("smoke", on_disk=True)})
    assert got.rc == 0 and "COMPLETED" in got.stdout and not got.stderr.count("mandoc"), got


@case("a tarball holds every file that git knows, what configure is made of, and its version")
def _():
    if not (SOURCE / ".git").exists():
        raise Skip("the source is no repository of its own")
    tracked = run(["-C", SOURCE, "ls-files"], program=need_tool("git"))
    fresh = run(["-C", SOURCE, "ls-files", "--others", "--exclude-standard"], program=need_tool("git"))
    version = re.match(r"kvfall (\S+)", run(["--version"]).stdout).group(1)
    folder = scratch("tarball") / "kvfall"
    # as if configure had been made at this commit
    now = run([SOURCE / "src/base/version.sh"], program=need_tool("sh")).stdout.strip()
    make("distdir", distdir=folder, VERSION=now)
    files = {path for path in tracked.stdout.splitlines() if (SOURCE / path).exists()}
    assert files - there(folder) == {".gitignore"}, sorted(files - there(folder))[:20]
    generated = there(folder) - files - set(fresh.stdout.splitlines())
    assert {"configure", "Makefile.in", "aclocal.m4", "config.h.in", ".tarball-version", "build-aux/tap-driver.sh"} <= generated
    assert not [path for path in generated if not re.match(r"build-aux/|[^/]*$", path)], sorted(generated)
    assert (folder / ".tarball-version").read_text() == now + "\n" and now.split("+")[0] == version.split("+")[0]
    told = run([folder / "src/base/version.sh"], program=need_tool("sh"))
    assert told.stdout == now + "\n", told


main()
