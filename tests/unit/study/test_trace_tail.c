#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "study/trace/trace_write.h"

/* A recording whose open requests stand in the tail, killed at some moment. */
/* A write within a page is done whole or not at all, so the file has no more than one: the longest rows have
 * 110 bytes. */
enum { KILLS = 100, ROUNDS = 16, OPEN = 11, IDS = 4, TEXT_MOST = 1 << 16 };

struct told { /* shared with the process that is killed */
    _Atomic uint64_t rounds, done;
};

static struct trace_line_out line_of(uint64_t number, uint64_t *ids) {
    for (uint64_t i = 0; i < IDS; i++) ids[i] = number * IDS + i;
    return (struct trace_line_out){.at_ns = number * KVF_NS_PER_MS,
                                   .input_tokens = number,
                                   .ids = ids,
                                   .count = (uint32_t)(1 + number % IDS),
                                   .model = "",
                                   .klass = ""};
}

/* Requests 0, 1, 2, ... of which a few end each round: those go to the file, the others are its tail. */
static void record(const char *path, struct told *told) {
    static uint64_t ids[OPEN][IDS];
    struct trace_line_out line[OPEN];
    const struct trace_line_out *at[OPEN];
    struct trace_write w;
    struct err e = {0};
    if (trace_write_begin(&w, path, TRACE_FORM_MOONCAKE, 16, 1, &e) != 0) abort();
    w.tells_lost = true;
    for (uint64_t round = 0, done = 0; round < ROUNDS; round++) {
        for (uint64_t ends = round % 4; ends > 0; ends--) {
            line[0] = line_of(done++, ids[0]);
            trace_write_add(&w, line);
        }
        trace_write_flush(&w);
        size_t open = 1 + round * 7 % OPEN;
        for (size_t i = 0; i < open; i++) {
            line[i] = line_of(done + i, ids[i]);
            at[i] = &line[i];
        }
        trace_write_tail(&w, at, open);
        if (w.errnum) abort();
        atomic_store(&told->done, done + 1); /* of the tail one at least */
        atomic_store(&told->rounds, round + 1);
    }
    for (;;) pause();
}

static size_t unpacked(const char *path, char *text) {
    static char packed[1 << 20], room[1 << 17];
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    FILE *f = fopen(path, "r");
    size_t len = 0, n;
    bool is_packed = strstr(path, ".zst") != NULL, broken = false;
    while (f && (n = fread(packed, 1, sizeof packed, f)) > 0) {
        ZSTD_inBuffer in = {packed, n, 0};
        if (!is_packed) memcpy(text + len, packed, n), len += n;
        while (is_packed && !broken && in.pos < in.size) {
            ZSTD_outBuffer to = {room, sizeof room, 0};
            broken = ZSTD_isError(ZSTD_decompressStream(zstd, &to, &in)) != 0;
            memcpy(text + len, room, to.pos);
            len += to.pos;
        }
    }
    if (f) fclose(f);
    ZSTD_freeDCtx(zstd);
    text[len] = '\0';
    return len;
}

/* Rows by number, none missing, each whole: as many as had been told at least. */
static uint64_t rows_whole(const char *path, char *text) {
    uint64_t rows = 0;
    size_t len = unpacked(path, text);
    for (char *row = text, *end; row < text + len; row = end + 1, rows++) {
        char input[60];
        end = memchr(row, '\n', (size_t)(text + len - row));
        if (!end) fail_msg("half a row: %.100s", row);
        *end = '\0';
        snprintf(input, sizeof input, "\"input_length\": %" PRIu64 ",", rows);
        if (!strstr(row, input) || !strchr(row, '}')) fail_msg("not row %s whole: %.200s", input, row);
        if (strchr(row, '}')[1 + strspn(strchr(row, '}') + 1, " ")]) fail_msg("more behind row %s", input);
    }
    return rows;
}

static void kills(const char *path) {
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *text = malloc(TEXT_MOST);
    assert_true(told != MAP_FAILED && text);
    for (unsigned i = 0; i < KILLS; i++) {
        atomic_store(&told->rounds, 0);
        atomic_store(&told->done, 0);
        unlink(path);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) record(path, told);
        while (atomic_load(&told->rounds) < 1 + i % (ROUNDS - 2)) continue;
        for (volatile unsigned spin = i * 37 % 1000 * 20; spin > 0;) spin--;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        uint64_t least = atomic_load(&told->done), rows = rows_whole(path, text);
        if (rows < least) fail_msg("%" PRIu64 " rows of %" PRIu64, rows, least);
    }
    unlink(path);
    munmap(told, sizeof *told);
    free(text);
}

static void no_kill_takes_a_row(void **state) {
    char path[] = "/tmp/kvfall-tail-XXXXXX.jsonl";
    (void)state;
    int fd = mkstemps(path, 6);
    assert_true(fd >= 0);
    close(fd);
    kills(path);
}

static void nor_of_a_compressed_trace(void **state) {
    char path[] = "/tmp/kvfall-tail-XXXXXX.zst";
    (void)state;
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    kills(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_kill_takes_a_row),
        cmocka_unit_test(nor_of_a_compressed_trace),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
