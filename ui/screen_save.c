/* Pictures of the screen in files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ui/screen_inside.h"

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

static void picture_write(struct screen *s, const struct buf *text, FILE *f, const char *path) {
    bool good = f && fwrite(text->data, 1, text->len, f) == text->len;
    int errnum = good ? 0 : errno;
    if (f && fclose(f) != 0 && good) {
        good = false;
        errnum = errno;
    }
    bool stays = f && !good && unlink(path) != 0;
    if (good)
        screen_say(s, "the screen is in %s", path);
    else
        screen_say(s, "the screen could not be written to %s%s: %s", path,
                   stays ? ", of which a part stays" : "", strerror(errnum));
}

/* The screen once more, without a line that is being typed; a text has no colours to tell curves apart. */
static void picture_draw(struct screen *s, const struct canvas *c,
                         void (*write)(const struct canvas *c, struct buf *out), struct buf *out) {
    enum scheme scheme = s->style.scheme;
    struct canvas clean;
    if (write == canvas_text) s->style.scheme = SCHEME_MONO;
    canvas_init(&clean, c->rows, c->cols, s->style);
    screen_draw(s, &clean);
    write(&clean, out);
    canvas_free(&clean);
    s->style.scheme = scheme;
}

void screen_save(struct screen *s, const struct canvas *c, bool svg) {
    char name[80], path[100];
    struct buf text = {0};
    struct tm tm;
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    size_t n = (size_t)snprintf(name, sizeof name, "kvfall-%s-", panels[s->view]->name);
    strftime(name + n, sizeof name - n, "%Y%m%d-%H%M%S", &tm);
    picture_draw(s, c, svg ? canvas_svg : canvas_text, &text);
    FILE *f = picture_file(path, sizeof path, name, svg ? "svg" : "txt");
    picture_write(s, &text, f, path);
    buf_free(&text);
}

static void settings_keep(struct screen *s) {
    struct settings now = screen_settings(s);
    struct buf path = {0};
    struct err e = {0};
    if (!s->setup->keep)
        screen_say(s, "there is no place to keep settings in: HOME is not set");
    else if (s->setup->keep(&now, &path, &e) == 0)
        screen_say(s, "theme, view, window, zoom, sort and columns are kept in %s", buf_text(&path));
    else
        screen_say(s, "%s", e.text);
    buf_free(&path);
}

void screen_save_as(struct screen *s, const struct canvas *c, const char *path) {
    static const struct {
        const char *ending;
        void (*write)(const struct canvas *c, struct buf *out);
    } forms[] = {{".svg", canvas_svg}, {".txt", canvas_text}, {".ansi", canvas_ansi}};
    const char *dot = strrchr(path, '.');
    struct buf text = {0};
    size_t i = 0, n = sizeof forms / sizeof forms[0];
    if (strcmp(path, "config") == 0) {
        settings_keep(s);
        return;
    }
    while (dot && i < n && strcmp(dot, forms[i].ending) != 0) i++;
    if (!dot || i == n) {
        screen_say(s, "the name of the file ends in .svg, .txt or .ansi, or is config for the settings");
        return;
    }
    FILE *f = fopen(path, "wx");
    if (!f && errno == EEXIST) {
        screen_say(s, "%.200s is there already; choose another name", path);
        return;
    }
    picture_draw(s, c, forms[i].write, &text);
    picture_write(s, &text, f, path);
    buf_free(&text);
}
