#include "cli/stored.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/output_file.h"

int stored_open(const struct options *o, enum store_mode mode, struct store **out, struct err *e) {
    char path[1024];
    int rc = store_path(options_value(o, "db"), path, sizeof path, e);
    return rc ? rc : store_open(out, path, mode, e);
}

int stored_open_run(const struct options *o, enum store_mode mode, struct store **out, int64_t *run_id,
                    struct err *e) {
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE, "%s needs a run: an id, latest, latest~2, or a name", o->command);
    int rc = stored_open(o, mode, out, e);
    return rc ? rc : store_resolve(*out, o->operand[0], run_id, e);
}

bool stored_confirm(const char *question) {
    char line[16] = "";
    fprintf(stderr, "%s [y/N] ", question);
    fflush(stderr);
    if (!fgets(line, sizeof line, stdin)) fputc('\n', stderr);
    line[strcspn(line, "\r\n")] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

const char *stored_output(const struct options *o) {
    const char *path = options_value(o, "output");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

/* A pipe or a device holds nothing that could be lost. */
int stored_output_check(const struct options *o, struct err *e) {
    const char *path = stored_output(o);
    struct stat st;
    if (!path) return 0;
    if (!options_has(o, "force") && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return err_set(e, KVF_ERR_USAGE,
                       "%s is there already; choose another name, or write over it with --force", path);
    return output_file_check(path, e);
}

int stored_output_write(const struct options *o, const struct buf *text, struct err *e) {
    const char *path = stored_output(o);
    if (path) return output_file_write(path, text, e);
    cli_print(text);
    return 0;
}
