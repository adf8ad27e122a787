#include "cli/commands.h"

#include "study/output.h"

int command_answer(command_act *act, int argc, char **argv) {
    struct options o;
    struct command_reply r = {.print = output_print};
    struct err e = {0};
    int rc = options_parse(&o, argc, argv, &e);
    if (!rc) rc = act(&o, &r, &e);
    if (rc < 0)
        rc = output_fail(&e);
    else
        r.print(&r.text);
    buf_free(&r.text);
    options_free(&o);
    return rc;
}
