# Makes the scenario files that it is given into the table behind shipped.h: each as one C string under
# its path without "configs/" and ".yaml".

function name_of(path) {
    sub(/^configs\//, "", path)
    sub(/\.yaml$/, "", path)
    return path
}

BEGIN {
    print "#include \"study/shipped.h\""
    print ""
    print "#include <stddef.h>"
    print ""
    print "const struct shipped shipped_scenarios[] = {"
}

FNR == 1 {
    if (NR > 1) print "    },"
    printf "    {\"%s\",\n", name_of(FILENAME)
}

{
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    printf "     \"%s\\n\"\n", $0
}

END {
    print "    },"
    print "    {NULL, NULL},"
    print "};"
}
