#include "ui/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A new file of that name, or of that name and a number. */
static FILE *picture_file(char *path, size_t len, const char *name, const char *ending) {
    for (int i = 1; i < 100; i++) {
        if (i == 1)
            snprintf(path, len, "%s.%s", name, ending);
        else
            snprintf(path, len, "%s-%d.%s", name, i, ending);
        FILE *f = fopen(path, "wx");
        if (f || errno != EEXIST) return f;
    }
    return NULL;
}

static void picture_write(const struct buf *text, FILE *f, const char *path, char *said, size_t len) {
    bool good = f && fwrite(text->data, 1, text->len, f) == text->len;
    int errnum = good ? 0 : errno;
    if (f && fclose(f) != 0 && good) {
        good = false;
        errnum = errno;
    }
    bool stays = f && !good && unlink(path) != 0;
    if (good)
        snprintf(said, len, "the screen is in %s", path);
    else
        snprintf(said, len, "the screen could not be written to %s%s: %s", path,
                 stays ? ", of which a part stays" : "", strerror(errnum));
}

static void picture_draw(const struct picture *p, void (*write)(const struct canvas *c, struct buf *out),
                         struct buf *out) {
    struct style style = p->style;
    struct canvas clean;
    if (write == canvas_text) style.scheme = SCHEME_MONO;
    canvas_init(&clean, p->rows, p->cols, style);
    p->draw(p->ctx, &clean);
    write(&clean, out);
    canvas_free(&clean);
}

void picture_save(const struct picture *p, const char *name, bool svg, char *said, size_t len) {
    char base[80], path[100];
    struct buf text = {0};
    struct tm tm;
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    size_t n = (size_t)snprintf(base, sizeof base, "kvfall-%s-", name);
    strftime(base + n, sizeof base - n, "%Y%m%d-%H%M%S", &tm);
    picture_draw(p, svg ? canvas_svg : canvas_text, &text);
    FILE *f = picture_file(path, sizeof path, base, svg ? "svg" : "txt");
    picture_write(&text, f, path, said, len);
    buf_free(&text);
}

void picture_save_as(const struct picture *p, const char *path, char *said, size_t len) {
    static const struct {
        const char *ending;
        void (*write)(const struct canvas *c, struct buf *out);
    } forms[] = {{".svg", canvas_svg}, {".txt", canvas_text}, {".ansi", canvas_ansi}};
    const char *dot = strrchr(path, '.');
    struct buf text = {0};
    size_t i = 0, n = sizeof forms / sizeof forms[0];
    while (dot && i < n && strcmp(dot, forms[i].ending) != 0) i++;
    if (!dot || i == n) {
        snprintf(said, len, "the file name must end in .svg, .txt or .ansi, or be config for the settings");
        return;
    }
    FILE *f = fopen(path, "wx");
    if (!f && errno == EEXIST) {
        snprintf(said, len, "%.200s is there already; choose another name", path);
        return;
    }
    picture_draw(p, forms[i].write, &text);
    picture_write(&text, f, path, said, len);
    buf_free(&text);
}
