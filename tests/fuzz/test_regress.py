#!/usr/bin/env python3
"""Inputs that once broke a parser, and those that hunts begin with, go through each fuzz target."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import BUILD, SOURCE, case, main, run, scratch

HERE = SOURCE / "tests/fuzz"
TARGETS = sorted(path.stem for path in HERE.glob("fuzz_*.c"))


def inputs(target):
    """Folders of known inputs and how many are in them."""
    folders = [HERE / kind / target[5:] for kind in ("corpus", "regress")]
    return folders, sum(len([path for path in folder.glob("*") if path.is_file()]) for folder in folders)


for target in TARGETS:
    @case("%s takes its known inputs" % target)
    def _(target=target):
        folders, count = inputs(target)
        assert count > 0, "there is no input in tests/fuzz/corpus/" + target[5:]
        got = run(["--replay", *folders], program=BUILD / "tests/fuzz" / target)
        assert got.rc == 0 and got.stdout.endswith("\n%d inputs replayed\n" % count), got


@case("every folder of inputs has a target")
def _():
    folders = {path.name for kind in ("corpus", "regress") for path in (HERE / kind).glob("*") if path.is_dir()}
    assert folders <= {target[5:] for target in TARGETS}, folders


@case("a short hunt of the own driver is the same for the same seed, and another for another")
def _():
    program, folder = BUILD / "tests/fuzz/fuzz_ops", scratch()

    def hunt(seed):
        got = run(["--runs", 300, "--time", 60, "--seed", seed, "--found", folder, "--words", HERE / "corpus/ops.words",
                   inputs("fuzz_ops")[0][0]], program=program)
        assert got.rc == 0 and "\n300 executions" in "\n" + got.stdout and " 0 findings" in got.stdout, got
        return got.stdout.splitlines()[-1]

    assert hunt(1).startswith("digest ") and hunt(1) == hunt(1) != hunt(2)
    assert not list(folder.iterdir())


main()
