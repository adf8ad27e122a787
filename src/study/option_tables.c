#include "study/option_tables.h"

#include <string.h>

#include "export/export.h"
#include "export/outcome_format.h"
#include "page/doc.h"

static const struct option_spec common_options[] = {
    {"help", NULL, OPTION_FLAG, NULL, "print this and stop"},
    {"ascii", NULL, OPTION_FLAG, NULL, "no characters beyond ASCII"},
    {"no-color", NULL, OPTION_FLAG, NULL, "no colours; so does NO_COLOR in the environment"},
    {0}};
static const struct option_group common = {"Everywhere", common_options};

static const struct option_spec setting_options[] = {
    {"set", "KEY=VALUE", OPTION_SET, NULL, "set any key of the scenario; may be repeated"},
    {"include", "FILE", OPTION_INCLUDE, NULL,
     "take defaults from FILE for keys that the scenario does not set"},
    {0}};
static const struct option_group setting = {"Scenario", setting_options};

/* The short forms: one table onto keys. */
static const struct option_spec short_options[] = {
    {"set", "KEY=VALUE", OPTION_SET, NULL, "set any key of the scenario; may be repeated"},
    {"include", "FILE", OPTION_INCLUDE, NULL,
     "take defaults from FILE for keys that the scenario does not set"},
    {"model", "NAME", OPTION_TEXT_KEY, "model", "model whose KV cache is benchmarked"},
    {"users", "N", OPTION_KEY, "workload.users", "simulated users"},
    {"seed", "N", OPTION_KEY, "seed", "seed of all random draws"},
    {"gpu", "SIZE", OPTION_KEY, "tiers.gpu.capacity", "capacity of the gpu tier; 0: off"},
    {"cpu", "SIZE", OPTION_KEY, "tiers.cpu.capacity", "capacity of the cpu tier; 0: off"},
    {"nvme", "SIZE", OPTION_KEY, "tiers.nvme.capacity", "capacity of the nvme tier; 0: off"},
    {"cache-dir", "DIR", OPTION_TEXT_KEY, "tiers.nvme.path", "directory of the nvme tier's files"},
    {"generation", "MODE", OPTION_KEY, "compute.mode", "generation time per token"},
    {"autoscaler", "MODE", OPTION_KEY, "autoscaler.mode", "rule that changes the number of users"},
    {"profile", "NAME", OPTION_KEY, "assess.profile", "criteria to judge the run by"},
    {"rag", "[N]", OPTION_AUTO_KEY, "workload.rag.documents",
     "documents ingested for retrieval (default 10)"},
    {"block-trace", "WHEN", OPTION_KEY, "run.block_trace", "trace requests in the kernel: auto, on or off"},
    {"insecure", NULL, OPTION_FLAG, "tiers.remote.insecure",
     "accept any certificate from the remote tier's server"},
    {"dataset", "FILE", OPTION_TEXT_KEY, "workload.path", "trace or data set for the source"},
    {"rate", "N", OPTION_KEY, "workload.arrival.rate", "requests per second of the whole source"},
    {"max-requests", "N", OPTION_KEY, "run.max_requests", "end after this many requests; 0: no limit"},
    {"trials", "N", OPTION_KEY, "run.trials", "number of runs"},
    {"speed", "X", OPTION_KEY, "run.speed", "simulation: multiple of real time; 0: as fast as possible"},
    {"duration", "TIME", OPTION_KEY, "run.duration", "length of the measured part"},
    {0}};
static const struct option_group shorts = {"Scenario", short_options};

static const struct option_spec database_options[] = {
    {"db", "FILE", OPTION_VALUE, NULL, "history database (default: $KVFALL_DB, else your own)"}, {0}};
static const struct option_group database = {"Database", database_options};

static const struct option_spec screen_options[] = {
    {"theme", "NAME", OPTION_VALUE, NULL,
     "colours of the screen: dark, light, mono, colour-blind, colour-blind-light"},
    {0}};
static const struct option_group screen = {"Screen", screen_options};

static const struct option_spec watch_table[] = {
    {"at", "TIME", OPTION_VALUE, NULL, "begin at this run time, such as 00:42 or 90s"},
    {"view", "NAME", OPTION_VALUE, NULL, "begin with this view: overview, tiers, latency, queue, ..."},
    {"dump", NULL, OPTION_FLAG, NULL, "print the screen as text, or write it as SVG: -o FILE.svg"},
    {"size", "COLUMNSxROWS", OPTION_VALUE, NULL, "size of the picture of --dump (default 80x24)"},
    {0}};
static const struct option_group watch_group = {"Watch", watch_table};

static const struct option_spec run_table[] = {
    {"headless", NULL, OPTION_FLAG, NULL, "no screen: progress on standard error, then a summary"},
    {"json", "FILE", OPTION_VALUE, NULL, "write the summary as JSON; - prints it instead of the text"},
    {"db", "FILE", OPTION_VALUE, NULL, "history database; 'none' stores nothing"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite existing files"},
    {"io-trace", "FILE", OPTION_VALUE, NULL, "write a CSV row per entry read or written; .zst compresses it"},
    {"request-log", "FILE", OPTION_VALUE, NULL, "write a JSON line per request"},
    {"verify-dump", "DIR", OPTION_VALUE, NULL, "keep up to 16 blocks that fail cache.verify"},
    {"assert", NULL, OPTION_FLAG, NULL, "exit 3 when an assessment fails"},
    {"force", NULL, OPTION_FLAG, NULL, "start even if memory or disk seem too small"},
    {"keep-going", NULL, OPTION_FLAG, NULL, "count failed operations instead of failing the run"},
    {"quiet", NULL, OPTION_FLAG, NULL, "no progress"},
    {"fit", NULL, OPTION_FLAG, NULL, "scale tiers and users down to this machine, and report it"},
    {"start-at", "EPOCH", OPTION_VALUE, NULL, "prepare, then begin at this time, in seconds since the epoch"},
    {"ranks", "N", OPTION_VALUE, NULL, "share the run among N processes started by MPI"},
    {"metrics", "ADDR", OPTION_VALUE, NULL,
     "serve metrics to Prometheus, at an address such as 127.0.0.1:9464"},
    {0}};
static const struct option_group run_group = {"Run", run_table};

static const struct option_spec suite_table[] = {
    {"plan", NULL, OPTION_FLAG, NULL, "print the plan and stop"},
    {"list", NULL, OPTION_FLAG, NULL, "print the names of all tests and stop"},
    {"quick", NULL, OPTION_FLAG, NULL, "short runs on small tiers, under five minutes in all"},
    {"path", "DIR", OPTION_VALUE, NULL, "directory of the nvme tier (default: on the fastest drive)"},
    {"duration", "[TEST=]TIME", OPTION_VALUE, NULL, "length of the measured part, of all tests or of one"},
    {"users", "N", OPTION_VALUE, NULL, "users of the normal load (default 50)"},
    {"high-users", "N", OPTION_VALUE, NULL, "users of a high load (default: 10 per GiB of memory)"},
    {"headless", NULL, OPTION_FLAG, NULL, "no screen: progress on standard error, then the table"},
    {"json", "FILE", OPTION_VALUE, NULL, "write everything as JSON; - prints it instead of the text"},
    {"db", "FILE", OPTION_VALUE, NULL, "history database; 'none' stores nothing"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite an existing file"},
    {"keep-going", NULL, OPTION_FLAG, NULL, "count failed operations instead of failing the test"},
    {"quiet", NULL, OPTION_FLAG, NULL, "no progress"},
    {0}};
static const struct option_group suite_group = {"Suite", suite_table};

static const struct option_spec suite_keys[] = {
    {"set", "KEY=VALUE", OPTION_SET, NULL, "set any key of every test; may be repeated"},
    {"include", "FILE", OPTION_INCLUDE, NULL,
     "take defaults from FILE for keys that the scenario does not set"},
    {"model", "NAME", OPTION_TEXT_KEY, "model", "model whose KV cache is benchmarked"},
    {"rag", "[N]", OPTION_AUTO_KEY, "workload.rag.documents",
     "documents ingested for retrieval (default 10)"},
    {"dataset", "FILE", OPTION_TEXT_KEY, "workload.path", "the ShareGPT data set"},
    {"trials", "N", OPTION_KEY, "run.trials", "number of runs of each test"},
    {0}};
static const struct option_group suite_scenario = {"Scenario (all tests, except model and RAG of mlperf)",
                                                   suite_keys};

static const struct option_spec sweep_table[] = {
    {"points", "N", OPTION_VALUE, NULL, "number of points of the profiles rates and miss_ratio"},
    {"jobs", "N", OPTION_VALUE, NULL, "simulated points at a time (default: one per core)"},
    {"headless", NULL, OPTION_FLAG, NULL, "no screen: progress on standard error, then the table"},
    {"json", "FILE", OPTION_VALUE, NULL, "write everything as JSON; - prints it instead of the table"},
    {"db", "FILE", OPTION_VALUE, NULL, "history database; 'none' stores nothing"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite an existing file"},
    {"force", NULL, OPTION_FLAG, NULL, "allow more than 10000 points, or too little memory or disk"},
    {"keep-going", NULL, OPTION_FLAG, NULL, "count failed operations instead of failing the point"},
    {"quiet", NULL, OPTION_FLAG, NULL, "no progress"},
    {0}};
static const struct option_group sweep_group = {"Sweep", sweep_table};

static const struct option_spec plan_table[] = {
    {"parts", "FILE", OPTION_VALUE, NULL, "catalogue of parts with prices (default: the example)"},
    {"target", "CLASS.p95=TIME", OPTION_VALUE, NULL,
     "target of a class instead of the scenario's; may be repeated"},
    {"confirm", NULL, OPTION_FLAG, NULL, "confirm the answer by a real run, scaled to this machine"},
    {"jobs", "N", OPTION_VALUE, NULL, "simulations at a time (default: one per core)"},
    {"headless", NULL, OPTION_FLAG, NULL, "no screen: progress on standard error, then the answer"},
    {"json", "FILE", OPTION_VALUE, NULL, "write everything as JSON; - prints it instead of the answer"},
    {"quiet", NULL, OPTION_FLAG, NULL, "no progress"},
    {"format", "NAME", OPTION_VALUE, NULL, "default: by the ending of FILE, else txt:"},
    {0}};
static const struct option_group plan_group = {"Plan", plan_table};

static const struct option_spec check_table[] = {
    {"keys", NULL, OPTION_FLAG, NULL, "print the names of all keys instead, one per line"},
    {"fit", NULL, OPTION_FLAG, NULL, "print the scenario as `run --fit` would scale it"},
    {"force", NULL, OPTION_FLAG, NULL, "no error if memory or disk seem too small"},
    {0}};
static const struct option_group check_group = {"Check", check_table};

static const struct option_spec models_table[] = {
    {"users", "N", OPTION_VALUE, NULL, "contexts held at once, one for each user"},
    {"context", "TOKENS", OPTION_VALUE, NULL, "length of each context (default 8192)"},
    {0}};
static const struct option_group models_group = {"Working set", models_table};

static const struct option_spec probe_table[] = {
    {"calibrate", NULL, OPTION_FLAG, NULL, "measure the tiers of this machine, in about half a minute"},
    {"path", "DIR", OPTION_VALUE, NULL, "with --calibrate: measure the disk under DIR (default .)"},
    {"remote", "URL", OPTION_VALUE, NULL, "with --calibrate: measure the store at URL as well"},
    {"output", "FILE", OPTION_VALUE, NULL, "with --calibrate: write the keys to FILE (default -)"},
    {"size", "SIZE", OPTION_VALUE, NULL, "with --calibrate: disk and memory to use (default 2GiB, 1GiB)"},
    {"time", "TIME", OPTION_VALUE, NULL, "with --calibrate: time to spend, roughly (default 30s)"},
    {"run", "TIME", OPTION_VALUE, NULL, "with --calibrate: adjust to a run of SCENARIO of that length"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "with --calibrate: overwrite an existing file"},
    {"headless", NULL, OPTION_FLAG, NULL, "with --calibrate: no screen, progress on standard error"},
    {0}};
static const struct option_group probe_group = {"Probe", probe_table};

static const struct option_spec history_table[] = {
    {"sweeps", NULL, OPTION_FLAG, NULL, "list sweeps instead of runs"},
    {"limit", "N", OPTION_VALUE, NULL, "list N runs at most (default 20); 0: all"},
    {"name", "PATTERN", OPTION_VALUE, NULL, "runs of this name; % and _ are wildcards"},
    {"model", "PATTERN", OPTION_VALUE, NULL, "runs of this model; % and _ are wildcards"},
    {"host", "PATTERN", OPTION_VALUE, NULL, "runs of this host; % and _ are wildcards"},
    {"status", "STATUS", OPTION_VALUE, NULL, "running, completed, interrupted, failed or crashed"},
    {"mode", "MODE", OPTION_VALUE, NULL, "real or simulate"},
    {"tag", "TAG", OPTION_VALUE, NULL, "runs with this tag"},
    {"since", "DATE", OPTION_VALUE, NULL, "runs begun on DATE or later: 2026-11-20, or 7d (a week ago)"},
    {"until", "DATE", OPTION_VALUE, NULL, "runs begun on DATE or earlier"},
    {"sort", "COLUMN", OPTION_VALUE, NULL, "sort by a column of --csv, best first (default: newest first)"},
    {"reverse", NULL, OPTION_FLAG, NULL, "reverse the order"},
    {"full", NULL, OPTION_FLAG, NULL, "all columns, even if wider than the terminal"},
    {"json", NULL, OPTION_FLAG, NULL, "print a JSON array"},
    {"csv", NULL, OPTION_FLAG, NULL, "print CSV"},
    {0}};
static const struct option_group history_group = {"History", history_table};

static const struct option_spec show_table[] = {
    {"json", NULL, OPTION_FLAG, NULL, "print the summary as JSON"},
    {"decisions", NULL, OPTION_FLAG, NULL, "add all decisions of the autoscaler"},
    {"events", NULL, OPTION_FLAG, NULL, "add all events"},
    {"criteria", NULL, OPTION_FLAG, NULL, "add the criteria with their metrics"},
    {"measures", NULL, OPTION_FLAG, NULL, "add all metrics by name"},
    {"ranks", NULL, OPTION_FLAG, NULL, "add each rank of a run, the slowest one and the reason"},
    {"scenario", NULL, OPTION_FLAG, NULL, "print the scenario as given instead"},
    {"effective", NULL, OPTION_FLAG, NULL, "print the scenario in effect, a file that can run again"},
    {0}};
static const struct option_group show_group = {"Show", show_table};

static const struct option_spec tag_table[] = {{"remove", NULL, OPTION_FLAG, NULL, "remove these tags"}, {0}};
static const struct option_group tag_group = {"Tag", tag_table};

static const struct option_spec note_table[] = {{"clear", NULL, OPTION_FLAG, NULL, "remove the note"}, {0}};
static const struct option_group note_group = {"Note", note_table};

static const struct option_spec merge_table[] = {
    {"as-ranks", NULL, OPTION_FLAG, NULL, "merge the newest run of each file, as the ranks of one run"}, {0}};
static const struct option_group merge_group = {"Merge", merge_table};

static const struct option_spec delete_table[] = {
    {"yes", NULL, OPTION_FLAG, NULL, "do not ask"},
    {"force", NULL, OPTION_FLAG, NULL, "also delete runs that seem to be running"},
    {0}};
static const struct option_group delete_group = {"Delete", delete_table};

static const struct option_spec prune_table[] = {
    {"keep", "N", OPTION_VALUE, NULL, "delete all but the newest N runs"},
    {"older", "TIME", OPTION_VALUE, NULL, "delete runs older than this, such as 90d"},
    {"dry-run", NULL, OPTION_FLAG, NULL, "list the runs to delete and stop"},
    {"yes", NULL, OPTION_FLAG, NULL, "do not ask"},
    {0}};
static const struct option_group prune_group = {"Prune", prune_table};

static const struct option_spec clean_table[] = {{"yes", NULL, OPTION_FLAG, NULL, "do not ask"}, {0}};
static const struct option_group clean_group = {"Clean", clean_table};

static const struct option_spec rows_table[] = {
    {"json", NULL, OPTION_FLAG, NULL, "print a JSON array of objects"},
    {"csv", NULL, OPTION_FLAG, NULL, "print CSV"},
    {0}};
static const struct option_group rows_group = {"Form", rows_table};

static const struct option_spec sql_table[] = {
    {"full", NULL, OPTION_FLAG, NULL, "every digit and full texts, even if wider than the terminal"}, {0}};
static const struct option_group sql_group = {"Table", sql_table};

/* The destination of a command's output. */
static const struct option_spec output_options[] = {
    {"output", "FILE", OPTION_VALUE, NULL, "write to FILE instead of standard output"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite an existing file"},
    {0}};
static const struct option_group output = {"Output", output_options};

static const struct option_spec compare_table[] = {
    {"baseline", "RUN", OPTION_VALUE, NULL,
     "compare with this run (default: the first); tag:NAME: with the last runs of a tag"},
    {"junit", "FILE", OPTION_VALUE, NULL, "write the checks of --fail-over and --metric as JUnit XML"},
    {"fail-over", "PERCENT", OPTION_VALUE, NULL,
     "exit 3 if a watched metric is worse by more than this and by more than noise"},
    {"metric", "NAME[=PERCENT]", OPTION_VALUE, NULL,
     "watch this metric instead of the default ones; may be repeated"},
    {"all", NULL, OPTION_FLAG, NULL, "show all stored metrics"},
    {"single", NULL, OPTION_FLAG, NULL, "compare a trial alone instead of its whole group"},
    {"json", NULL, OPTION_FLAG, NULL, "print a JSON object"},
    {"csv", NULL, OPTION_FLAG, NULL, "print CSV, a row for each metric and run"},
    {0}};
static const struct option_group compare_group = {"Compare", compare_table};

static const struct option_spec export_table[] = {
    {"format", "NAME", OPTION_VALUE, NULL, "default: by the ending of FILE, else csv:"}, {0}};
static const struct option_group export_group = {"Export", export_table};

static const struct option_spec report_table[] = {
    {"request-log", "FILE", OPTION_VALUE, NULL, "draw each request of this log (default: the run's own log)"},
    {"runs", NULL, OPTION_FLAG, NULL, "of a sweep or suite: add a page for each run, with links"},
    {"no-script", NULL, OPTION_FLAG, NULL, "a page without scripts: no cursor, zoom or sorting"},
    {"format", "NAME", OPTION_VALUE, NULL, "default: by the ending of FILE, else html:"},
    {0}};
static const struct option_group report_group = {"Report", report_table};

static const struct option_spec validate_table[] = {
    {"against", "FILE", OPTION_VALUE, NULL,
     "JSON of vllm bench throughput or serve, GuideLLM, SGLang bench_serving, trtllm-bench or aiperf; may be repeated"},
    {"within", "PERCENT", OPTION_VALUE, NULL, "allowed difference (default 5%)"},
    {"benchmark", "N", OPTION_VALUE, NULL, "number of a GuideLLM benchmark (default: the fastest)"},
    {0}};
static const struct option_group validate_group = {"Validate", validate_table};

static const struct option_spec trace_table[] = {
    {"source", "NAME", OPTION_VALUE, NULL, "format of the file (default: by its first bytes)"},
    {"block-tokens", "N", OPTION_VALUE, NULL,
     "tokens per block of a mooncake file (default: from its first row, else 512)"},
    {"model", "NAME", OPTION_TEXT_KEY, "model", "model that sets the bytes per token"},
    {"policies", "LIST", OPTION_VALUE, NULL, "policies to compare with lru (default 2q,arc,s3fifo)"},
    {"cut", "FROM..TO", OPTION_VALUE, NULL, "only requests of that time: 10:00..11:00, 90s..5m"},
    {"sample", "PART", OPTION_VALUE, NULL, "only this fraction of the sessions, such as 0.1"},
    {"users", "TIMES", OPTION_VALUE, NULL, "multiply the sessions, each copy with its own blocks: 10x"},
    {"seed", "N", OPTION_VALUE, NULL, "seed of --sample and --users (default 42)"},
    {"json", "FILE", OPTION_VALUE, NULL, "write the description as JSON; - prints it instead of the text"},
    {"report", "FILE", OPTION_VALUE, NULL, "write it as a page: FILE.html, FILE.md or FILE.txt"},
    {"fit-personas", NULL, OPTION_FLAG, NULL, "write a scenario with similar synthetic users instead"},
    {"output", "FILE", OPTION_VALUE, NULL, "write the requests to FILE instead, anonymised"},
    {"format", "NAME", OPTION_VALUE, NULL, "format of --output: mooncake, csv or oracleGeneral"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite an existing file"},
    {0}};
static const struct option_group trace_group = {"Trace", trace_table};

static const struct option_spec record_table[] = {
    {"output", "FILE", OPTION_VALUE, NULL, "write the trace to FILE"},
    {"overwrite", NULL, OPTION_FLAG, NULL, "overwrite an existing file"},
    {"events", "ADDRESS[,REPLAY]", OPTION_VALUE, NULL,
     "record the KV events of an engine instead; may be repeated"},
    {"blocks", "FILE", OPTION_VALUE, NULL, "with --events: write every stored and removed block to FILE"},
    {"turn-after", "DURATION", OPTION_VALUE, NULL,
     "with --events: a request continued after this is a new turn"},
    {"follow", NULL, OPTION_FLAG, NULL, "follow the log as it grows, until a signal"},
    {"headless", NULL, OPTION_FLAG, NULL, "no screen: a line on standard error, then the summary"},
    {"map", "FIELD=PATH", OPTION_VALUE, NULL,
     "path of a field: time, prompt, input, output, model, session, class"},
    {"block-tokens", "N", OPTION_VALUE, NULL, "tokens per block (default 512)"},
    {"tokenizer", "FILE", OPTION_VALUE, NULL,
     "token ranks for splitting text (default: 4 characters a token)"},
    {"salt", "FILE", OPTION_VALUE, NULL, "keep the salt of the hashes in FILE, to join recordings later"},
    {0}};
static const struct option_group record_group = {"Record", record_table};

static const struct option_command tables[] = {
    {"run", 1, {&run_group, &screen, &shorts, &common}},
    {"suite", OPTIONS_OPERANDS_MAX, {&suite_group, &suite_scenario, &screen, &common}},
    {"sweep", 1, {&sweep_group, &screen, &shorts, &common}},
    {"plan", 1, {&plan_group, &output, &screen, &shorts, &common}},
    {"check", 1, {&check_group, &shorts, &common}},
    {"models", 2, {&models_group, &setting, &common}},
    {"probe", OPTIONS_OPERANDS_MAX, {&probe_group, &screen, &common}},
    {"record", OPTIONS_OPERANDS_MAX, {&record_group, &screen, &common}},
    {"trace", OPTIONS_OPERANDS_MAX, {&trace_group, &common}},
    {"clean", OPTIONS_OPERANDS_MAX, {&clean_group, &common}},
    {"watch", 1, {&watch_group, &output, &screen, &database, &common}},
    {"history", 0, {&history_group, &database, &common}},
    {"show", 1, {&show_group, &database, &common}},
    {"compare", OPTIONS_OPERANDS_MAX, {&compare_group, &output, &database, &common}},
    {"export", OPTIONS_OPERANDS_MAX, {&export_group, &output, &database, &common}},
    {"report", OPTIONS_OPERANDS_MAX, {&report_group, &output, &database, &common}},
    {"validate", OPTIONS_OPERANDS_MAX, {&validate_group, &database, &common}},
    {"tag", OPTIONS_OPERANDS_MAX, {&tag_group, &database, &common}},
    {"note", 2, {&note_group, &database, &common}},
    {"delete", OPTIONS_OPERANDS_MAX, {&delete_group, &database, &common}},
    {"prune", 0, {&prune_group, &database, &common}},
    {"vacuum", 0, {&database, &common}},
    {"merge", OPTIONS_OPERANDS_MAX, {&merge_group, &database, &common}},
    {"sql", 1, {&sql_group, &rows_group, &database, &common}},
    {"schema", 0, {&common}},
    {"config", 0, {&rows_group, &common}},
    {"complete", OPTIONS_OPERANDS_MAX, {&common}},
    {"help", 1, {&common}},
};

const struct option_command *option_command_find(const char *name) {
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i].name, name) == 0) return &tables[i];
    return NULL;
}

/* Short forms, the same in every command that has the option. */
static const struct {
    const char *name;
    char letter;
} letters[] = {{"output", 'o'}};

/* The letter of an option's short form, NUL for none. */
static char option_letter(const char *name) {
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (strcmp(letters[i].name, name) == 0) return letters[i].letter;
    return '\0';
}

const struct option_spec *option_find(const struct option_command *c, const char *name, size_t len) {
    for (size_t g = 0; g < OPTION_GROUPS_MAX && c->groups[g]; g++)
        for (const struct option_spec *s = c->groups[g]->options; s->name; s++)
            if (strlen(s->name) == len && strncmp(s->name, name, len) == 0) return s;
    return NULL;
}

const struct option_spec *option_find_letter(const struct option_command *c, char letter) {
    for (size_t g = 0; g < OPTION_GROUPS_MAX && c->groups[g]; g++)
        for (const struct option_spec *s = c->groups[g]->options; s->name; s++)
            if (option_letter(s->name) == letter) return s;
    return NULL;
}

bool options_common(const char *argument) {
    if (strncmp(argument, "--", 2) != 0) return false;
    for (const struct option_spec *s = common_options; s->name; s++)
        if (strcmp(argument + 2, s->name) == 0) return true;
    return false;
}

/* Whether this build carries out more than the default of a key. */
static bool carried_out(const char *key) {
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, key) == 0) return keys[i].available;
    return true;
}

/* Options whose values are a table of their own: what help says of each, a line for a value. */
static const struct {
    const struct option_spec *option;
    void (*list)(struct buf *out);
} choices[] = {{&export_table[0], export_formats_list},
               {&report_table[3], doc_forms_list},
               {&plan_table[7], doc_forms_list}};

void option_choices(const struct option_spec *s, struct buf *out) {
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].option == s) choices[i].list(out);
}

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

/* Words behind the option, in rows of their own where one does not hold them. `column`: used of this one. */
static void help_words(const char *text, size_t column, struct buf *out) {
    while (*text) {
        size_t len = strcspn(text, " ");
        bool first = column <= HELP_COLUMN;
        if (column >= HELP_COLUMN && column + !first + len > HELP_WIDTH) {
            buf_add(out, "\n");
            column = 0;
            first = true;
        }
        if (column < HELP_COLUMN) {
            buf_addf(out, "%*s", (int)(HELP_COLUMN - column), "");
            column = HELP_COLUMN;
        }
        buf_addf(out, "%s%.*s", first ? "" : " ", (int)len, text);
        column += !first + len;
        text += len + strspn(text + len, " ");
    }
    buf_add(out, "\n");
}

static void help_choices(const struct option_spec *s, struct buf *out) {
    struct buf lines = {0};
    option_choices(s, &lines);
    for (char *rest = lines.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line) help_words(line, 0, out);
    buf_free(&lines);
}

static void help_line(const struct option_spec *s, struct buf *out) {
    struct buf left = {0}, words = {0};
    buf_add(&left, "  ");
    if (option_letter(s->name)) buf_addf(&left, "-%c, ", option_letter(s->name));
    buf_addf(&left, "--%s%s%s", s->name, s->argument ? " " : "", s->argument ? s->argument : "");
    buf_add(&words, s->help);
    if (s->key)
        buf_addf(&words, " (%s%s)", s->key, carried_out(s->key) ? "" : "; not available in this build");
    bool own_row = left.len + 2 > HELP_COLUMN;
    buf_addf(out, "%s%s", buf_text(&left), own_row ? "\n" : "");
    help_words(buf_text(&words), own_row ? 0 : left.len, out);
    help_choices(s, out);
    buf_free(&left);
    buf_free(&words);
}

void options_help(const char *command, struct buf *out) {
    const struct option_command *c = option_command_find(command);
    if (!c) return;
    for (size_t g = 0; g < OPTION_GROUPS_MAX && c->groups[g]; g++) {
        buf_addf(out, "\n%s:\n", c->groups[g]->title);
        for (const struct option_spec *s = c->groups[g]->options; s->name; s++) help_line(s, out);
    }
}
