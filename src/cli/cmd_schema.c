#include "cli/commands.h"
#include "store/store.h"

int cmd_schema(const struct options *o, struct command_reply *r, struct err *e) {
    (void)o;
    (void)e;
    store_schema(&r->text);
    return 0;
}
