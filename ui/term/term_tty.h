/* The terminal's device: a descriptor of our own, its size, its modes. Knows no curses. One thread,
 * but term_tty_foreground() and those that block are async-signal-safe. */
#ifndef KVF_UI_TERM_TERM_TTY_H
#define KVF_UI_TERM_TERM_TTY_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/err.h"

/* Opens the terminal behind `fd` a second time, never blocking, closed on exec. The descriptor, or
 * -KVF_ERR_UNAVAILABLE with a sentence. The caller's descriptor keeps its flags. */
int term_tty_open(int fd, struct err *e);
/* Whether we may write to it and change its modes: our group is in its foreground, or it does not
 * control us. A terminal that is gone counts as the foreground; writing will tell. */
bool term_tty_foreground(int fd);
bool term_tty_hung_up(int fd);
/* Rows and columns, at least 1 and at most what a canvas holds; 24 x 80 when it does not say. */
void term_tty_size(int fd, int *rows, int *cols);
/* Modes for a screen made from those that were found: keys at once, no echo, no signals from keys,
 * output as it is. Flow control (Ctrl-S, Ctrl-Q) stays as it was. */
struct termios term_tty_raw(const struct termios *found);
bool term_tty_same_modes(const struct termios *a, const struct termios *b);
/* Being stopped for touching the terminal would stop the whole run: not on this thread. `before` is its
 * mask, for putting the same back. */
void term_tty_block_stops(sigset_t *before);
void term_tty_unblock_stops(const sigset_t *before);

#endif
