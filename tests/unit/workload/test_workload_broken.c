#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/unit/trace_fixture.h"

/* Files of each format that are cut, filled with bytes that no text has, or made of one endless line. */

struct format {
    enum scenario_source source;
    const char *name, *good; /* three rows that are good */
    bool ends;               /* a row that is cut short is never a row */
};

static const struct format formats[] = {
    {KVF_SOURCE_MOONCAKE, "mooncake",
     ROW("0", "513", "7", "4, 5") ROW("10", "512", "1", "4") ROW("20.5", "1025", "0", "4, 5, 6"), true},
    {KVF_SOURCE_AZURE, "azure",
     "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:47.0000000,396,109\n2023-11-16 18:15:48,1,0\n",
     false},
    {KVF_SOURCE_OPS, "ops", "write,a,100\nread,a,100\nwrite,b,7\n", false},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static void with_format(const struct format *f) {
    scenario_reset(NULL);
    scenario.workload.source = f->source;
    if (f->source == KVF_SOURCE_OPS) scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
}

/* Requests until the end; what was read is what was emitted and what was rejected. */
static uint64_t played(struct workload *w) {
    uint64_t emitted = 0;
    while (workload_next(w, 0, &request) == WORKLOAD_REQUEST) emitted++;
    rows_expect(w, emitted, rejected_sum(w));
    return emitted;
}

/* Each format's file cut behind every byte. */
static void cut_anywhere(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        size_t whole = 0, size = strlen(f->good);
        for (size_t cut = 1; cut <= size; cut++) {
            bool line = f->good[cut - 1] == '\n', full = line || f->good[cut] == '\n';
            whole += line;
            with_format(f);
            file_write(f->good, cut);
            struct workload *w = NULL;
            struct err e = {0};
            if (workload_open(&w, &scenario, &e) != 0) {
                assert_true(whole == 0 && !full); /* nothing that is a row yet */
            } else {
                uint64_t emitted = played(w);
                assert_int_equal(workload_rows(w)->read, whole + !line);
                assert_true(emitted == whole || (emitted == whole + 1 && !line));
                if (f->ends) assert_int_equal(emitted, whole + (full && !line));
                workload_close(w);
            }
            scenario_clean(NULL);
        }
        assert_int_equal(whole, 3);
    }
}

/* Each byte of the second row in turn is replaced, one is put in and it is taken out: the rows around
 * it are not touched by that, whatever becomes of it. */
static void spoilt_anywhere(void **state) {
    (void)state;
    static const char bytes[] = "\0\xff\x80\xc0\x1b\x7f\"\\{}[],:-. \r9a";
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        const char *row = strchr(f->good, '\n') + 1;
        size_t first = (size_t)(row - f->good), len = strcspn(row, "\n");
        for (size_t at = 0; at < len; at++) {
            for (size_t b = 0; b < 2 * sizeof bytes - 1; b++) {
                char data[512];
                size_t rest = strlen(row + at), gone = b < sizeof bytes - 1;
                size_t put = b < 2 * (sizeof bytes - 1);
                memcpy(data, f->good, first + at);
                data[first + at] = bytes[b % (sizeof bytes - 1)];
                memcpy(data + first + at + put, row + at + gone, rest - gone);
                with_format(f);
                file_write(data, first + at + put + rest - gone);
                struct workload *w = opened();
                uint64_t emitted = played(w);
                assert_int_equal(workload_rows(w)->read, 3);
                assert_true(emitted == 2 || emitted == 3);
                workload_close(w);
                scenario_clean(NULL);
            }
        }
    }
}

static void bytes_that_no_text_has(void **state) {
    (void)state;
    static const char *const junk[] = {
        "\xff\xfe\n",     "\x80\n",       "\xc0\x80,\xc0\x80,\xc0\x80\n", "{\"\xed\xa0\x80\":1}\n",
        "\x1b[2J\n",      "\x7f\x45LF\n", /* an ELF file */
        "\xef\xbf\xbf\n", "\xf5\n"};
    for (int i = 0; i < FORMATS; i++) {
        char data[2048] = "";
        size_t count = sizeof junk / sizeof *junk;
        strcat(data, formats[i].good);
        for (size_t j = 0; j < count; j++) strcat(data, junk[j]);
        strcat(data, formats[i].good);
        with_format(&formats[i]);
        file_write(data, strlen(data));
        struct workload *w = opened();
        assert_int_equal(played(w), 6);
        rows_expect(w, 6, count);
        assert_int_equal(workload_rows(w)->first_rejected_line, 4);
        workload_close(w);
        scenario_clean(NULL);
    }
}

/* Keys go to terminals and into JSON: what is not UTF-8 or steers a terminal is no key. */
static void keys_are_plain_text(void **state) {
    (void)state;
    scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    struct workload *w =
        opened_with(KVF_SOURCE_OPS, "write,\xc3\xa4-\xe2\x82\xac,1\n"
                                    "write,\xff,1\nwrite,a\xc2\x9b,1\nwrite,a\x1b,1\nwrite,\xc3,1\n"
                                    "read,a\tb,1\nread,a,1\n");
    next_expect(w);
    assert_string_equal(request.key, "\xc3\xa4-\xe2\x82\xac");
    next_expect(w);
    end_expect(w);
    rows_expect(w, 2, 5);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_KEY], 5);
    workload_close(w);
}

/* The content of a skipped value does not matter as long as its form is right. */
static void strings_that_are_not_used(void **state) {
    (void)state;
    struct workload *w = opened_with(
        KVF_SOURCE_MOONCAKE, "{\"x\":\"\xff\xfe\",\"timestamp\":1,\"input_length\":5,\"output_length\":5,"
                             "\"hash_ids\":[1],\"\\ud800\":{\"y\":[\"\\u0000\"]}}\n");
    next_expect(w);
    end_expect(w);
    workload_close(w);
}

/* Nesting up to the limit passes, one more does not; in lists, in objects and in both. */
static void nesting_has_a_limit(void **state) {
    (void)state;
    static const char *const open[] = {"[", "{\"a\":", "[{\"a\":"}, *const close[] = {"]", "}", "}]"};
    static const int levels[] = {1, 1, 2};
    for (int kind = 0; kind < 3; kind++) {
        for (int depth = 62; depth <= 68; depth += 2) {
            char data[4096];
            int n = snprintf(data, sizeof data,
                             GOOD "{\"timestamp\":1,\"input_length\":5,\"output_length\":5,"
                                  "\"hash_ids\":[1],\"x\":");
            for (int i = 0; i < depth; i += levels[kind]) n += sprintf(data + n, "%s", open[kind]);
            n += sprintf(data + n, "1");
            for (int i = 0; i < depth; i += levels[kind]) n += sprintf(data + n, "%s", close[kind]);
            sprintf(data + n, "}\n");
            scenario_reset(NULL);
            struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, data);
            assert_int_equal(played(w), depth <= 64 ? 2 : 1);
            workload_close(w);
            scenario_clean(NULL);
        }
    }
}

/* There in a build with the address sanitizer, which keeps what was freed for a while, and with the thread
 * sanitizer, which keeps several bytes for each: there the memory of the process is not that of the reader.
 */
void __asan_init(void) __attribute__((weak));
void __tsan_init(void) __attribute__((weak));

static uint64_t rss_peak_bytes(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* A line of 100 MB between two rows: one row is rejected, and memory does not follow the line. Each
 * line looks like the beginning of a row, an endless list, an endless string, an endless number. */
static void lines_of_100_megabytes(void **state) {
    (void)state;
    static const struct {
        const char *begin, *more;
    } endless[FORMATS][2] = {
        {{"{\"timestamp\":1,\"input_length\":5,\"output_length\":5,\"hash_ids\":[1", ",1"},
         {"{\"x\":\"", "\\u0000"}},
        {{"2023-11-16 18:15:46.", "0"}, {"2023-11-16 18:15:46.6805900", ",1"}},
        {{"write,a,", "0"}, {"write,", "key"}},
    };
    enum { LENGTH = 100000000, PIECE = 1 << 20 };
    char *piece = malloc(PIECE + 16);
    assert_non_null(piece);
    uint64_t before = rss_peak_bytes();
    for (int i = 0; i < FORMATS; i++) {
        for (int kind = 0; kind < 2; kind++) {
            size_t unit = strlen(endless[i][kind].more);
            for (size_t at = 0; at < PIECE; at += unit) memcpy(piece + at, endless[i][kind].more, unit);
            int fd = memfd_create("rows", 0);
            assert_true(fd >= 0);
            dprintf(fd, "%s%s", formats[i].good, endless[i][kind].begin);
            for (size_t written = 0; written < LENGTH; written += PIECE / unit * unit)
                assert_int_equal(write(fd, piece, PIECE / unit * unit), PIECE / unit * unit);
            dprintf(fd, "\n%s", formats[i].good);
            with_format(&formats[i]);
            snprintf(scenario.workload.path, sizeof scenario.workload.path, "/proc/self/fd/%d", fd);
            struct workload *w = opened();
            assert_int_equal(played(w), 6);
            rows_expect(w, 6, 1);
            assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_MALFORMED], 1);
            assert_int_equal(workload_rows(w)->first_rejected_line, 4);
            workload_close(w);
            close(fd);
            scenario_clean(NULL);
        }
    }
    free(piece);
    if (!__asan_init && !__tsan_init) assert_true(rss_peak_bytes() - before < (uint64_t)64 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(cut_anywhere),           TEST(spoilt_anywhere),           TEST(bytes_that_no_text_has),
        TEST(keys_are_plain_text),    TEST(strings_that_are_not_used), TEST(nesting_has_a_limit),
        TEST(lines_of_100_megabytes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_broken", tests, NULL, NULL);
}
