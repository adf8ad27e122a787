#include "probe/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

char *file_text(const char *root, const char *path) {
    char full[4096];
    if ((size_t)snprintf(full, sizeof full, "%s%s", root, path) >= sizeof full) return NULL;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct buf b = {0};
    char piece[8192];
    ssize_t n;
    /* Files of /proc have no size to ask for. */
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) buf_bytes(&b, piece, (size_t)n);
    close(fd);
    if (n < 0) buf_free(&b);
    return n < 0 ? NULL : b.data ? b.data : mem_strdup("");
}

bool file_line(const char *root, const char *path, char *out, size_t len) {
    char *text = file_text(root, path);
    if (len) out[0] = '\0';
    if (!text) return false;
    text[strcspn(text, "\n")] = '\0';
    snprintf(out, len, "%s", text);
    free(text);
    return out[0] != '\0';
}

static bool number_at(const char *p, uint64_t *out) {
    while (*p == ' ' || *p == '\t') p++;
    if (*p < '0' || *p > '9') return false;
    errno = 0;
    uint64_t v = strtoull(p, NULL, 10);
    if (errno) return false;
    *out = v;
    return true;
}

bool file_number(const char *root, const char *path, uint64_t *out) {
    char line[64];
    return file_line(root, path, line, sizeof line) && number_at(line, out);
}

bool file_keyed(const char *text, const char *key, uint64_t *out) {
    size_t len = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        if (strncmp(p, key, len) == 0) return number_at(p + len, out);
    return false;
}
