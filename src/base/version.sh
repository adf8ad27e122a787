#!/bin/sh
# Prints the version of the tree in DIRECTORY: version.sh [DIRECTORY], else the one it stands in.
#
#   .tarball-version   a tarball has it, and it counts alone, whatever is around the tree
#   git, with a tag    0.4.0 at v0.4.0, 0.4.0+12.g7c36f57 twelve commits later
#   git, without one   0.4.0+g7c36f57: the newest number of CHANGELOG.md is where the tree comes from
#   neither            0.4.0, or 0.4.0+unreleased where CHANGELOG.md begins with changes without a number
#
# What follows the + says in all notations (SemVer, Debian, RPM) that the tree is later than the number before it;
# .dirty at the end, that files of the commit were changed. The tree's own git counts, never one that it lies in.
tree=$(cd "${1:-$(dirname "$0")/../..}" && pwd -P) || exit 1

if [ -f "$tree/.tarball-version" ]; then
    head -n 1 "$tree/.tarball-version"
    exit
fi

unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # a hook has those of its repository
# A root that installs somebody's tree reads it too. Reading takes no lock from who works there.
tree_git() { GIT_OPTIONAL_LOCKS=0 git -c safe.directory="$tree" -C "$tree" "$@" 2>/dev/null; }

changelog() { sed -n "s/^## //p" "$tree/CHANGELOG.md" 2>/dev/null | sed "$1"; }
base=$(changelog '/^[0-9]/!d; s/ .*//; q')
: "${base:=0}"

if [ "$(tree_git rev-parse --show-toplevel)" = "$tree" ] && hash=$(tree_git rev-parse --short=7 HEAD); then
    if described=$(tree_git describe --tags --long --abbrev=7 --match 'v[0-9]*'); then
        # v0.4.0-12-g7c36f57; a tag may have dashes of its own
        hash=${described##*-g}
        described=${described%-g*}
        commits=${described##*-}
        version=${described%-*}
        version=${version#v}
        [ "$commits" = 0 ] || version=$version+$commits.g$hash
    else
        version=$base+g$hash
    fi
    [ -z "$(tree_git status --porcelain --untracked-files=no)" ] || dirty=1
    case ${dirty:+$version} in
    '') ;;
    *+*) version=$version.dirty ;;
    *) version=$version+dirty ;;
    esac
else
    version=$base
    case $(changelog q) in
    "$base"*) ;;
    *) version=$base+unreleased ;;
    esac
fi
printf '%s\n' "$version"
