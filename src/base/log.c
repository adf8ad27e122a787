#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"

enum { HELD_MAX = 1000, LINE_SHORT = 1024 };

static const char *const heads[] = {
    [KVF_LOG_ERROR] = "error: ", [KVF_LOG_WARNING] = "warning: ", [KVF_LOG_INFO] = ""};

/* Held lines are a ring: `held_first` is the oldest of `held_count`. One lock orders everything, so
 * that lines let out and lines that come meanwhile do not mix. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool holding, open_line;
static char *held[HELD_MAX];
static unsigned held_first, held_count;
static unsigned long held_lost;

static void hold_line(char *line) {
    if (held_count == HELD_MAX) {
        free(held[held_first]);
        held_first = (held_first + 1) % HELD_MAX;
        held_count--;
        held_lost++;
    }
    held[(held_first + held_count++) % HELD_MAX] = line;
}

static void let_out(void) {
    if (held_lost) {
        char line[80];
        int len = snprintf(line, sizeof line, "kvfall: %lu earlier messages were dropped\n", held_lost);
        (void)buf_write(STDERR_FILENO, line, (size_t)len);
    }
    for (; held_count > 0; held_count--) {
        (void)buf_write(STDERR_FILENO, held[held_first], strlen(held[held_first]));
        free(held[held_first]);
        held[held_first] = NULL;
        held_first = (held_first + 1) % HELD_MAX;
    }
    held_first = 0;
    held_lost = 0;
}

/* Names and paths come from outside. */
static void clean(char *line) {
    size_t len = strlen(line);
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = '\0';
    utf8_clean(line, UTF8_LINES);
}

void log_hold(bool hold) {
    pthread_mutex_lock(&lock);
    holding = hold;
    if (!hold) let_out();
    pthread_mutex_unlock(&lock);
}

void log_forget(void) {
    pthread_mutex_init(&lock, NULL); /* whoever had it is not here */
    for (unsigned i = 0; i < held_count; i++) free(held[(held_first + i) % HELD_MAX]);
    held_first = held_count = 0;
    held_lost = 0;
    holding = false;
}

void log_behind_open_line(bool open) {
    pthread_mutex_lock(&lock);
    open_line = open;
    pthread_mutex_unlock(&lock);
}

void log_line(enum log_level level, const char *fmt, ...) {
    char near[LINE_SHORT];
    char *line = near;
    int saved_errno = errno;
    va_list ap, again;

    int head = snprintf(near, sizeof near, "kvfall: %s", heads[level]);
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(near + head, sizeof near - (size_t)head - 1, fmt, ap);
    va_end(ap);
    size_t need = (size_t)head + (len > 0 ? (size_t)len : 0) + 2;
    if (need > sizeof near && (line = malloc(need))) {
        memcpy(line, near, (size_t)head);
        (void)vsnprintf(line + head, need - (size_t)head, fmt, again);
    }
    va_end(again);
    if (!line) line = near; /* no memory: the beginning of it is better than nothing */
    clean(line);
    size_t end = strlen(line);
    line[end++] = '\n';
    line[end] = '\0';

    pthread_mutex_lock(&lock);
    if (holding) {
        char *kept = line == near ? strdup(near) : line;
        if (kept)
            hold_line(kept);
        else
            held_lost++;
        line = near;
    } else {
        static const char erase[] = "\r\033[K";
        if (open_line) (void)buf_write(STDERR_FILENO, erase, sizeof erase - 1);
        open_line = false;
        (void)buf_write(STDERR_FILENO, line, end);
    }
    pthread_mutex_unlock(&lock);
    if (line != near) free(line);
    errno = saved_errno;
}
