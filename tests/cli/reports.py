"""Reports of sanitizers. In a build with one, every program that a case runs writes what the sanitizer has to say
into a folder of ours, and a report fails the case, whatever became of the program's standard error and status.

    from reports import case   # instead of tap's
"""
import atexit
import functools
import os
import pathlib
import shutil
import tempfile

import tap

STATUS = 99  # of a program that was found fault with

_folder = pathlib.Path(tempfile.mkdtemp(prefix="kvfall-test-reports-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
for _name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    _own = "exitcode=%d:log_path=%s" % (STATUS, _folder / "report")
    os.environ[_name] = ":".join(filter(None, [os.environ.get(_name), _own]))


def _take():
    """The reports so far, which are gone afterwards."""
    texts = []
    for path in sorted(_folder.iterdir()):
        texts.append("%s\n%s" % (path.name, path.read_text(errors="replace")))
        path.unlink()
    return "\n".join(texts)


def case(name):
    """tap.case() for a case whose programs make no reports."""
    def add(function):
        @functools.wraps(function)
        def judged():
            try:
                function()
            except tap.Skip:
                raise
            except Exception as error:
                found = _take()
                if not found:
                    raise
                raise AssertionError("a sanitizer says:\n" + found) from error
            found = _take()
            assert not found, "a sanitizer says:\n" + found
        tap.case(name)(judged)
    return add
