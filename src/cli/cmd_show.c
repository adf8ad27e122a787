#include "base/buf.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "record/run.h"
#include "report/report.h"
#include "store/store.h"

static int load(const struct options *o, struct run_record *run, struct err *e) {
    char path[1024];
    struct store *store = NULL;
    int64_t id;

    int rc = store_path(options_value(o, "db"), path, sizeof path, e);
    if (rc) return rc;
    rc = store_open(&store, path, STORE_READ, e);
    if (!rc) rc = store_resolve(store, o->operands ? o->operand[0] : "latest", &id, e);
    if (!rc) rc = store_load_run(store, id, run, e);
    store_close(store);
    return rc;
}

int cmd_show(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct run_record run;
    struct buf out = {0};
    int status = 0;

    run_record_init(&run);
    if (options_parse(&o, argc, argv, &e) || load(&o, &run, &e)) {
        status = cli_fail(&e);
    } else {
        struct report_style style = cli_style(&o);
        if (options_has(&o, "json"))
            report_json(&run, &out);
        else
            report_text(&run, &style, &out);
        cli_print(&out);
    }
    buf_free(&out);
    run_record_free(&run);
    options_free(&o);
    return status;
}
