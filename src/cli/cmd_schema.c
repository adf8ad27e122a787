#include "base/buf.h"
#include "cli/commands.h"
#include "store/store.h"
#include "study/options.h"
#include "study/output.h"

int cmd_schema(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct buf out = {0};

    if (options_parse(&o, argc, argv, &e)) return output_fail(&e);
    store_schema(&out);
    output_print(&out);
    buf_free(&out);
    options_free(&o);
    return 0;
}
