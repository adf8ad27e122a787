/* Pictures of the screen, and its settings, in files. */
#include <string.h>

#include "ui/picture.h"
#include "ui/screen_inside.h"

static void draw_for_picture(void *ctx, struct canvas *c) {
    struct screen *s = ctx;
    struct style before = s->style;
    s->style = c->style;
    screen_draw(s, c);
    s->style = before;
}

static struct picture picture_of(struct screen *s, const struct canvas *c) {
    return (struct picture){
        .draw = draw_for_picture, .ctx = s, .rows = c->rows, .cols = c->cols, .style = s->style};
}

void screen_save(struct screen *s, const struct canvas *c, bool svg) {
    struct picture p = picture_of(s, c);
    char said[sizeof s->message];
    picture_save(&p, panels[s->view]->name, svg, said, sizeof said);
    screen_say(s, "%s", said);
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
    struct picture p = picture_of(s, c);
    char said[sizeof s->message];
    if (strcmp(path, "config") == 0) {
        settings_keep(s);
        return;
    }
    picture_save_as(&p, path, said, sizeof said);
    screen_say(s, "%s", said);
}
