/* Effects of keys and typed commands on the screen. For screen_keys, screen_commands and screen_save. */
#ifndef KVF_UI_SCREEN_INSIDE_H
#define KVF_UI_SCREEN_INSIDE_H

#include "ui/screen.h"

void screen_show_view(struct screen *s, size_t view);
/* Changes of the run: each says what became of it. */
void screen_users(struct screen *s, uint64_t to);
void screen_pause(struct screen *s, bool pause);
void screen_speed(struct screen *s, double times);             /* 0: as fast as it can */
bool screen_autoscaler_to(struct screen *s, const char *mode); /* false: there is no such mode */
bool screen_generation_to(struct screen *s, const char *mode); /* likewise */
void screen_mark(struct screen *s, const char *note);
void screen_ask_quit(struct screen *s, enum screen_wish *wish);
/* The picture into a new file, as text or as SVG, or into a file of that name, whose ending decides. */
void screen_save(struct screen *s, const struct canvas *c, bool svg);
void screen_save_as(struct screen *s, const struct canvas *c, const char *path);
/* Carries out a typed command. */
enum screen_wish screen_command(struct screen *s, const struct canvas *c, const char *text);

#endif
