/* Pictures of the screen in files. Screen thread only. */
#ifndef KVF_UI_PICTURE_H
#define KVF_UI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/canvas.h"

struct picture {                               /* drawn anew, without a line that is being typed */
    void (*draw)(void *ctx, struct canvas *c); /* in the canvas' style */
    void *ctx;
    int rows, cols;
    struct style style; /* of the screen; a text has no colours to tell curves apart */
};

/* Saves into a new file of the current directory, "kvfall-NAME-20260131-120000.svg" or .txt. `said` gets a
 * sentence on the outcome. */
void picture_save(const struct picture *p, const char *name, bool svg, char *said, size_t len);
/* Saves into a new file of that name, whose ending decides the form: .svg, .txt or .ansi. */
void picture_save_as(const struct picture *p, const char *path, char *said, size_t len);

#endif
