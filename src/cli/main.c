#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "rank/launcher.h"
#include "store/store.h"
#include "study/option_tables.h"
#include "study/options.h"
#include "study/output.h"
#include "study/signals.h"
#include "ui/keyboard.h"

static int cmd_help(const struct options *o, struct command_reply *r, struct err *e);

static const struct command_entry commands[] = {
    {"run", "[SCENARIO]", "run a scenario, by default the quickstart", .run = cmd_run},
    {"suite", "[TEST|GROUP]...", "run a series of tests and compare the results", .run = cmd_suite},
    {"sweep", "SCENARIO", "run a scenario with some keys varied, and compare the runs", .run = cmd_sweep},
    {"plan", "SCENARIO", "find the cheapest machine that meets a scenario's targets", .run = cmd_plan},
    {"check", "SCENARIO", "explain a scenario and its needs, without running it", .act = cmd_check},
    {"models", "[NAME [SCENARIO]]", "list models, or show how a working set spreads over the tiers",
     .act = cmd_models},
    {"record", "[LOG]...", "make a trace from the request log of a gateway or engine", .act = cmd_record},
    {"trace", "FILE...", "describe a trace, or extract a part of it", .act = cmd_trace},
    {"clean", "PATH...", "remove files that killed runs or power cuts left behind", .act = cmd_clean},
    {"probe", "[PATH]... | --calibrate [SCENARIO]",
     "show what this machine offers: memory, CPUs, GPU, devices", .act = cmd_probe},
    {"watch", "[RUN]", "show a run of the database on the screen, live or past", .run = cmd_watch},
    {"history", "", "list the runs of the database, newest first", .act = cmd_history},
    {"show", "[RUN]", "print the summary of a stored run, by default the latest", .act = cmd_show},
    {"compare", "RUN...", "compare runs: scenarios and metrics, with changes separated from noise",
     .act = cmd_compare},
    {"export", "[RUN]...", "export stored runs for other programs", .act = cmd_export},
    {"report", "[RUN]...", "write stored runs as a report with charts: HTML, Markdown or text",
     .act = cmd_report},
    {"validate", "[RUN]...", "compare throughput with that of serving engines", .act = cmd_validate},
    {"tag", "RUN [TAG]...", "tag a run, or list its tags", .act = cmd_tag},
    {"note", "RUN [TEXT]", "write a note on a run, or print it", .act = cmd_note},
    {"delete", "RUN...", "delete runs from the database", .act = cmd_delete},
    {"prune", "", "delete the oldest runs of the database", .act = cmd_prune},
    {"vacuum", "", "give the space of deleted runs back to the disk", .act = cmd_vacuum},
    {"merge", "FILE...", "copy the runs of another database into this one", .act = cmd_merge},
    {"sql", "STATEMENT", "query the database with a SELECT of your own", .act = cmd_sql},
    {"schema", "", "print the schema of the database as SQL", .act = cmd_schema},
    {"config", "", "list your settings and their origins", .act = cmd_config},
    {"complete", "[--] [WORD]...", "list possible next words of a command line, for shells",
     .run = cmd_complete},
    {"help", "[COMMAND]", "explain a command, or list the screen's keys (help keys)", .act = cmd_help},
};
enum { COMMANDS_KNOWN = sizeof commands / sizeof commands[0] };

size_t command_count(void) {
    return COMMANDS_KNOWN;
}

const struct command_entry *command_at(size_t i) {
    return &commands[i];
}

const struct command_entry *command_find(const char *name) {
    for (size_t i = 0; i < COMMANDS_KNOWN; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    struct nearest n = nearest_start(name);
    struct err e = {0};
    for (size_t i = 0; i < COMMANDS_KNOWN; i++) nearest_offer(&n, commands[i].name);
    if (n.best)
        err_set(&e, KVF_ERR_USAGE, "there is no command \"%s\"; did you mean \"%s\"?", name, n.best);
    else
        err_set(&e, KVF_ERR_USAGE, "there is no command \"%s\"; `kvfall --help` lists them", name);
    return output_fail(&e);
}

static void program_help(struct buf *out) {
    buf_add(out, "usage: kvfall COMMAND [ARGUMENT]... [--OPTION]...\n"
                 "\n"
                 "Benchmarks tiered LLM KV caches: serving workloads on a real GPU, CPU and NVMe\n"
                 "hierarchy, with every interval of every run kept in SQLite.\n"
                 "\n"
                 "Commands:\n");
    for (size_t i = 0; i < COMMANDS_KNOWN; i++)
        buf_addf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
    buf_add(out, "\n"
                 "Options:\n"
                 "  --help     print this, or the help of a command\n"
                 "  --version  print version, compiler, libraries and features\n"
                 "\n"
                 "Every command takes --help, --ascii and --no-color. The manual is kvfall(1).\n");
}

static void command_help(const struct command_entry *c, struct buf *out) {
    buf_addf(out, "usage: kvfall %s%s%s [--OPTION]...\n\n", c->name, c->arguments[0] ? " " : "",
             c->arguments);
    buf_addf(out, "%c%s.\n", c->help[0] - 'a' + 'A', c->help + 1);
    options_help(c->name, out);
}

static int cmd_help(const struct options *o, struct command_reply *r, struct err *e) {
    const struct command_entry *c = o->operands ? command_find(o->operand[0]) : NULL;
    (void)e;
    if (o->operands && strcmp(o->operand[0], "keys") == 0)
        keyboard_text(&r->text);
    else if (o->operands && !c)
        return unknown_command(o->operand[0]);
    else if (c)
        command_help(c, &r->text);
    else
        program_help(&r->text);
    return 0;
}

static int print_version(void) {
    struct buf out = {0};
    buf_addf(&out, "kvfall %s\n", build_version());
    for (const struct build_fact *f = build_facts; f->name; f++)
        buf_addf(&out, "  %-11s %s\n", f->name, f->text);
    output_print(&out);
    buf_free(&out);
    return 0;
}

static bool wants_help(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

static int run_command(const struct command_entry *c, int argc, char **argv) {
    /* A run goes on where its database finds no memory for a while, and says so. */
    if (c->run != cmd_run && c->run != cmd_sweep && c->run != cmd_suite) store_memory_or_end();
    if (!wants_help(argc, argv)) return c->run ? c->run(argc, argv) : command_answer(c->act, argc, argv);
    struct buf out = {0};
    command_help(c, &out);
    output_print(&out);
    buf_free(&out);
    return 0;
}

/* Printed by kvfall without arguments: the first commands to try. */
static int usage_error(void) {
    struct buf out = {0};
    buf_add(&out,
            "kvfall measures what each tier of an LLM KV cache costs: GPU, host memory, NVMe.\n"
            "\n"
            "Type first:\n"
            "  kvfall run                      the built-in quickstart, on the screen: a minute, and at\n"
            "                                  most 20 GiB written to the current directory\n"
            "  kvfall run --set mode=simulate  the same without writing anything\n"
            "  kvfall watch                    choose a run that was made, and look at it again\n"
            "  kvfall probe                    what this machine has\n"
            "\n"
            "kvfall --help lists all commands, man kvfall begins with the same.\n");
    output_say("%s", buf_text(&out));
    buf_free(&out);
    return 2;
}

/* Options that every command knows may stand before the command: they are handed on behind it. */
static int dispatch(int argc, char **argv) {
    int first = 1;
    for (; first < argc && options_common(argv[first]); first++)
        if (strcmp(argv[first], "--help") == 0)
            return command_answer(cmd_help, 1, (char *[]){(char[]){"help"}, NULL});
    if (first == argc) return usage_error();
    if (strcmp(argv[first], "--version") == 0) return print_version();
    if (argv[first][0] == '-') {
        struct err e = {0};
        err_set(&e, KVF_ERR_USAGE, "kvfall itself has no option %s; it takes --help, --version, or a command",
                argv[first]);
        return output_fail(&e);
    }
    const struct command_entry *c = command_find(argv[first]);
    if (!c) return unknown_command(argv[first]);

    char **moved = mem_zalloc((size_t)argc + 1, sizeof *moved);
    int count = 0;
    moved[count++] = argv[first];
    for (int i = 1; i < first; i++) moved[count++] = argv[i];
    for (int i = first + 1; i < argc; i++) moved[count++] = argv[i];
    int status = run_command(c, count, moved);
    free(moved);
    return status;
}

/* A file opened later must not take the number of a closed standard stream: it would get what is
 * meant for the terminal. The stand-ins are opened the wrong way round, so that use still fails. */
static void keep_standard_streams(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) abort();
}

int main(int argc, char **argv) {
    keep_standard_streams();
    if (launcher_stood_in()) return 0;
    /* Large arrays grow by moving their pages, and leave no holes behind, wherever the C library would have
     * put them by now. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    setlocale(LC_CTYPE, "");
    mem_exhausted_end(_exit);
    json_set_alloc_funcs(mem_alloc, free); /* a document without a part of it would be a wrong one */
    signals_end();
    output_start();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of a write like others */
    return output_finish(dispatch(argc, argv));
}
