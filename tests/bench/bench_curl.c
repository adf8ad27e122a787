/* The usual way to an S3 bucket, as a yardstick: libcurl's multi interface with one transfer on each of a
 * number of connections, bodies from and into memory. bench_curl read|write URL KEY SECRET BYTES OBJECTS
 * TRANSFERS CONNECTIONS Objects of BYTES are called URL/value0 and so on; transfers go round them. Says
 * nothing; status 1 when one fails. */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *url;
static char *body;
static size_t bytes;
static long objects, transfers, begun;

struct transfer {
    CURL *easy;
    size_t passed;
};

static size_t give(char *to, size_t size, size_t n, void *of) {
    struct transfer *t = of;
    size_t len = bytes - t->passed < size * n ? bytes - t->passed : size * n;
    memcpy(to, body + t->passed, len);
    t->passed += len;
    return len;
}

static size_t take(char *from, size_t size, size_t n, void *of) {
    struct transfer *t = of;
    if (t->passed + size * n > bytes) return 0;
    memcpy(body + t->passed, from, size * n);
    t->passed += size * n;
    return size * n;
}

static int rewind_body(void *of, curl_off_t offset, int origin) {
    struct transfer *t = of;
    t->passed = (size_t)offset;
    return origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void begin(CURLM *multi, struct transfer *t) {
    char name[2048];
    snprintf(name, sizeof name, "%s/value%ld", url, begun++ % objects);
    t->passed = 0;
    curl_easy_setopt(t->easy, CURLOPT_URL, name);
    curl_multi_add_handle(multi, t->easy);
}

static struct transfer *opened(bool reads, const char *user, struct transfer *t) {
    CURL *c = t->easy = curl_easy_init();
    curl_easy_setopt(c, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:s3");
    curl_easy_setopt(c, CURLOPT_USERPWD, user);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_PRIVATE, t);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 512L * 1024);
    curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
    if (reads) {
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
        return t;
    }
    curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
    curl_easy_setopt(c, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(c, CURLOPT_READDATA, t);
    curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, rewind_body);
    curl_easy_setopt(c, CURLOPT_SEEKDATA, t);
    curl_easy_setopt(c, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, curl_slist_append(NULL, "x-amz-content-sha256:UNSIGNED-PAYLOAD"));
    return t;
}

int main(int argc, char **argv) {
    char user[256];
    if (argc != 9) return 2;
    url = argv[2];
    snprintf(user, sizeof user, "%s:%s", argv[3], argv[4]);
    bytes = strtoul(argv[5], NULL, 10), objects = atol(argv[6]), transfers = atol(argv[7]);
    long connections = atol(argv[8]);
    body = calloc(1, bytes);
    struct transfer *all = calloc((size_t)connections, sizeof *all);
    curl_global_init(CURL_GLOBAL_ALL);
    CURLM *multi = curl_multi_init();
    for (long i = 0; i < connections && begun < transfers; i++)
        begin(multi, opened(strcmp(argv[1], "read") == 0, user, &all[i]));
    for (int running = 1; running;) {
        int left;
        curl_multi_perform(multi, &running);
        for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
            struct transfer *t;
            if (m->data.result != CURLE_OK) {
                fprintf(stderr, "bench_curl: %s\n", curl_easy_strerror(m->data.result));
                return 1;
            }
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&t);
            curl_multi_remove_handle(multi, t->easy);
            if (begun < transfers) begin(multi, t), running = 1;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return 0;
}
