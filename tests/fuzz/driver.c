/* Runs a fuzz target where libFuzzer is not at hand:
 *
 *   fuzz_X --replay INPUT...                   each input once
 *   fuzz_X [--time S] [--runs N] [--seed N] [--max-length N] [--words FILE] [--found FOLDER] INPUT...
 *
 * An INPUT is a file or a folder of files. The second form changes inputs at random, the same way for
 * the same seed, and hands them to the target for so many seconds or runs. Where the compiler has
 * counted the branches of the code under test (-fsanitize-coverage=trace-pc), inputs that reach new
 * ones are kept to be changed further.
 *
 * A child does the work and the parent watches it: the input of the moment lies in memory that both
 * share, so one that kills the child, or keeps it for SLOW_S, is written to FOLDER and a new child
 * goes on. The status is 1 when there was such an input. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/hash.h"
#include "base/rng.h"
#include "fuzz.h"

enum {
    LENGTH_MAX = 1 << 20,
    CORPUS_MAX = 1 << 16,
    WORDS_MAX = 512,
    BRANCHES = 1 << 16,
    FINDINGS_MAX = 10,
    SLOW_S = 10,
    CHANGES_MAX = 6
};
#define ARENA_BYTES ((size_t)256 << 20)

struct shared {
    uint64_t executions;
    uint64_t digest; /* of all inputs, when a number of runs was asked for */
    bool done;       /* the child has ended by itself */
    size_t size;
    uint8_t data[LENGTH_MAX]; /* the input of the moment */
    uint8_t seen[BRANCHES];   /* bit per order of magnitude of how often */
    uint32_t inputs;
    struct {
        uint8_t *data;
        size_t size;
    } input[CORPUS_MAX];
    size_t used;
    uint8_t arena[]; /* bytes of the inputs */
};

static struct {
    double time_s;
    uint64_t runs, seed;
    size_t max_length;
    const char *found, *words;
    bool replay;
} option = {.time_s = 20, .runs = UINT64_MAX, .seed = 1, .max_length = 8192, .found = "."};

static struct shared *shared;
static uint8_t *word[WORDS_MAX];
static size_t word_len[WORDS_MAX], words;
static uint8_t hit[BRANCHES];
static bool counted; /* the compiler has counted the branches */

/* The compiler calls this on each branch of instrumented code. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    static uintptr_t before;
    uintptr_t here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)LLVMFuzzerTestOneInput;
    uint8_t *h = &hit[(here ^ before) % BRANCHES];
    counted = true;
    if (*h < UINT8_MAX) ++*h;
    before = here >> 1;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- inputs ---- */

static uint8_t *file_read(const char *path, size_t *size) {
    FILE *f = fopen(path, "r");
    if (!f) die(path, strerror(errno));
    uint8_t *data = malloc(LENGTH_MAX);
    fuzz_require(data != NULL);
    *size = fread(data, 1, LENGTH_MAX, f);
    fclose(f);
    return data;
}

static void input_keep(const uint8_t *data, size_t size) {
    if (shared->inputs == CORPUS_MAX || shared->used + size > ARENA_BYTES) return;
    uint8_t *copy = shared->arena + shared->used;
    memcpy(copy, data, size);
    shared->used += size;
    shared->input[shared->inputs].data = copy;
    shared->input[shared->inputs].size = size;
    shared->inputs++;
}

static void file_take(const char *path) {
    size_t size;
    uint8_t *data = file_read(path, &size);
    if (option.replay) {
        printf("replay %s\n", path);
        fflush(stdout);
        /* a copy of exactly its size, so that a read beyond it is seen */
        uint8_t *exact = malloc(size ? size : 1);
        fuzz_require(exact != NULL);
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        shared->executions++;
    } else {
        input_keep(data, size < option.max_length ? size : option.max_length);
    }
    free(data);
}

/* A file, or the files of a folder in the order of their names; a folder need not be there. */
static void path_take(const char *path) {
    struct stat info;
    struct dirent **entry;
    if (stat(path, &info) != 0 && errno == ENOENT) return;
    if (!S_ISDIR(info.st_mode)) {
        file_take(path);
        return;
    }
    int count = scandir(path, &entry, NULL, alphasort);
    if (count < 0) die(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.') file_take(name);
        free(entry[i]);
    }
    free(entry);
}

/* Words in libFuzzer's form: "bytes" a line, with \xNN, \\ and \" in them. */
static void words_read(const char *path) {
    size_t size;
    char *text = (char *)file_read(path, &size), *rest = text, *line;
    text[size < LENGTH_MAX ? size : LENGTH_MAX - 1] = '\0';
    while ((line = strsep(&rest, "\n")) && words < WORDS_MAX) {
        char *p = strchr(line, '"');
        if (line[0] == '#' || !p) continue;
        uint8_t *out = word[words] = malloc(strlen(line) + 1);
        fuzz_require(out != NULL);
        for (p++; *p && *p != '"'; p++) {
            unsigned byte;
            if (*p == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
                *out++ = (uint8_t)byte;
                p += 3;
            } else {
                if (*p == '\\' && p[1]) p++;
                *out++ = (uint8_t)*p;
            }
        }
        word_len[words] = (size_t)(out - word[words]);
        words++;
    }
    free(text);
}

/* ---- changes ---- */

static size_t below(struct rng *rng, size_t n) {
    return n ? (size_t)rng_range(rng, 0, n - 1) : 0;
}

/* Puts `len` bytes in the place of `gone` ones at `at`, as far as there is room. */
static void put(size_t at, size_t gone, const void *bytes, size_t len) {
    struct shared *s = shared;
    if (at > s->size) at = s->size;
    if (gone > s->size - at) gone = s->size - at;
    if (s->size - gone + len > option.max_length) len = option.max_length - (s->size - gone);
    uint8_t *copy = malloc(len + 1); /* bytes may be of the input itself */
    fuzz_require(copy != NULL);
    memcpy(copy, bytes, len);
    memmove(s->data + at + len, s->data + at + gone, s->size - at - gone);
    memcpy(s->data + at, copy, len);
    s->size += len - gone;
    free(copy);
}

static void number_change(struct rng *rng, size_t at) {
    static const char *const number[] = {"0",
                                         "-1",
                                         "1",
                                         "00",
                                         "1e9",
                                         "0.5",
                                         "-0.0",
                                         "2147483648",
                                         "4294967296",
                                         "1099511627776",
                                         "1099511627777",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "1e400",
                                         "nan",
                                         "null",
                                         "99999999999999999999999999999999999999999"};
    const char *text = number[below(rng, sizeof number / sizeof *number)];
    size_t end = at;
    for (size_t i = 0; i < shared->size && (shared->data[at] < '0' || shared->data[at] > '9'); i++)
        at = (at + 1) % shared->size;
    for (end = at; end < shared->size && strchr("0123456789.", shared->data[end]); end++)
        if (shared->data[end] == '\0') break;
    put(at, end - at, text, strlen(text));
}

static void repeat(struct rng *rng, size_t at) {
    uint8_t run[4096];
    static const char bytes[] = "[{\"( -\n0,:a\\";
    size_t len = 1 + below(rng, below(rng, 16) ? 40 : sizeof run);
    memset(run, bytes[below(rng, sizeof bytes - 1)], len);
    put(at, 0, run, len);
}

static void change(struct rng *rng) {
    static const char *const odd[] = {"\xff",     "\xc0\x80",     "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xe2\x80", "\xef\xbb\xbf", "\r\n",         "\r",
                                      "\n\n",     "\t",           "\x7f",         "\x1b[2J"};
    struct shared *s = shared;
    uint8_t byte = (uint8_t)rng_u64(rng);
    size_t at = below(rng, s->size), len = 1 + below(rng, below(rng, 4) ? 8 : s->size);
    uint32_t other = (uint32_t)below(rng, s->inputs);
    if (s->size == 0) {
        put(0, 0, &byte, 1);
        return;
    }
    switch (below(rng, 14)) {
    case 0:
        s->data[at] ^= (uint8_t)(1u << (byte & 7));
        break;
    case 1:
        s->data[at] = byte;
        break;
    case 2:
        put(at, 0, &byte, 1);
        break;
    case 3:
        put(at, len, "", 0);
        break;
    case 4:
        put(below(rng, s->size), 0, s->data + at, len < s->size - at ? len : s->size - at);
        break;
    case 5:
        put(at, s->size, "", 0);
        break;
    case 6:
        put(at, below(rng, 2), "", 1); /* a NUL */
        break;
    case 7: {
        const char *text = odd[below(rng, sizeof odd / sizeof *odd)];
        put(at, 0, text, strlen(text));
        break;
    }
    case 8:
        number_change(rng, at);
        break;
    case 9:
        repeat(rng, at);
        break;
    case 10: {
        size_t from = below(rng, s->input[other].size);
        put(at, below(rng, 2) ? s->size : len, s->input[other].data + from, s->input[other].size - from);
        break;
    }
    default: {
        size_t w = below(rng, words);
        if (words) put(at, below(rng, 3) ? 0 : len, word[w], word_len[w]);
    }
    }
}

/* ---- parent and child ---- */

/* Whether the branches of the last run tell something new; they are taken note of. */
static bool news(void) {
    bool new = false;
    for (size_t i = 0; i < BRANCHES; i += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, hit + i, sizeof eight);
        if (eight == 0) continue;
        for (size_t j = i; j < i + sizeof eight; j++) {
            if (!hit[j]) continue;
            uint8_t bit = (uint8_t)(1u << (31 - __builtin_clz(hit[j])));
            if (shared->seen[j] & bit) continue;
            shared->seen[j] |= bit;
            new = true;
        }
    }
    return new;
}

static void run_one(void) {
    if (option.runs != UINT64_MAX) shared->digest = hash_bytes(shared->data, shared->size, shared->digest);
    if (counted) memset(hit, 0, sizeof hit);
    uint8_t *exact = malloc(shared->size ? shared->size : 1);
    fuzz_require(exact != NULL);
    memcpy(exact, shared->data, shared->size);
    LLVMFuzzerTestOneInput(exact, shared->size);
    free(exact);
    __atomic_add_fetch(&shared->executions, 1, __ATOMIC_RELAXED);
    if (counted && news()) input_keep(shared->data, shared->size);
}

static void child(uint32_t seeds, uint64_t number, double end_s) {
    struct rng rng;
    rng_init(&rng, option.seed, KVF_RNG_TEST, number);
    for (uint32_t i = 0; number == 0 && i < seeds; i++) {
        shared->size = shared->input[i].size;
        memcpy(shared->data, shared->input[i].data, shared->size);
        run_one();
    }
    while (shared->executions < option.runs && now_s() < end_s) {
        /* the newest inputs are changed more often than the others */
        size_t from = below(&rng, 3) ? 0 : shared->inputs - shared->inputs / 4;
        size_t i = from + below(&rng, shared->inputs - from);
        if (i >= shared->inputs) i = shared->inputs - 1;
        shared->size = shared->input[i].size;
        memcpy(shared->data, shared->input[i].data, shared->size);
        for (size_t changes = 1 + below(&rng, CHANGES_MAX); changes > 0; changes--) change(&rng);
        run_one();
    }
    shared->done = true;
    exit(0); /* leaks are looked for now */
}

/* Waits for the child; true when it was stopped because one input kept it too long. */
static bool wait_for(pid_t pid, int *status) {
    uint64_t executions = 0;
    double since = now_s();
    while (waitpid(pid, status, WNOHANG) == 0) {
        uint64_t now = __atomic_load_n(&shared->executions, __ATOMIC_RELAXED);
        if (now != executions || shared->done) since = now_s();
        executions = now;
        if (now_s() - since > SLOW_S) {
            kill(pid, SIGKILL);
            waitpid(pid, status, 0);
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return false;
}

static void finding_write(const char *kind) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s-%016" PRIx64, option.found, kind,
             hash_bytes(shared->data, shared->size, 0));
    FILE *f = fopen(path, "w");
    if (!f || fwrite(shared->data, 1, shared->size, f) != shared->size || fclose(f) != 0)
        die(path, strerror(errno));
    printf("found %s\n", path);
    fflush(stdout);
}

static int hunt(void) {
    unsigned findings = 0;
    double begun = now_s(), end_s = begun + option.time_s;
    if (shared->inputs == 0) input_keep((const uint8_t *)"", 0);
    uint32_t seeds = shared->inputs;
    for (uint64_t number = 0; findings < FINDINGS_MAX; number++) {
        int status;
        pid_t pid = fork();
        if (pid < 0) die("fork", strerror(errno));
        if (pid == 0) child(seeds, number, end_s);
        bool slow = wait_for(pid, &status);
        if (!slow && shared->done && status == 0) break;
        if (shared->done) {
            printf("found a leak, or a fault at the end; the report is on standard error\n");
            findings++;
            break;
        }
        finding_write(slow ? "slow" : "crash");
        findings++;
    }
    printf("%" PRIu64 " executions, %.0f s, %u inputs kept, %u findings\n", shared->executions,
           now_s() - begun, shared->inputs - seeds, findings);
    if (option.runs != UINT64_MAX) printf("digest %016" PRIx64 "\n", shared->digest);
    return findings > 0;
}

static const char *value_of(int argc, char **argv, int *i) {
    if (*i + 1 >= argc) die(argv[*i], "a value is missing");
    return argv[++*i];
}

int main(int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--replay") == 0)
            option.replay = true;
        else if (strcmp(name, "--time") == 0)
            option.time_s = atof(value_of(argc, argv, &i));
        else if (strcmp(name, "--runs") == 0)
            option.runs = strtoull(value_of(argc, argv, &i), NULL, 10);
        else if (strcmp(name, "--seed") == 0)
            option.seed = strtoull(value_of(argc, argv, &i), NULL, 10);
        else if (strcmp(name, "--max-length") == 0)
            option.max_length = strtoull(value_of(argc, argv, &i), NULL, 10);
        else if (strcmp(name, "--words") == 0)
            option.words = value_of(argc, argv, &i);
        else if (strcmp(name, "--found") == 0)
            option.found = value_of(argc, argv, &i);
        else
            die(name, "there is no such option");
    }
    if (option.max_length < 1 || option.max_length > LENGTH_MAX) die("--max-length", "1 to 1048576");
    shared = mmap(NULL, sizeof *shared + ARENA_BYTES, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED) die("mmap", strerror(errno));
    if (option.words) words_read(option.words);
    for (; i < argc; i++) path_take(argv[i]);
    if (!option.replay) return hunt();
    printf("%" PRIu64 " inputs replayed\n", shared->executions);
    return 0;
}
