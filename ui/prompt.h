/* A line typed in place: the note of a mark, a filter, a time. Screen thread only. */
#ifndef KVF_UI_PROMPT_H
#define KVF_UI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

enum { PROMPT_LEN = 160 };
struct prompt {
    const char *question;  /* NULL: nothing is being asked */
    char text[PROMPT_LEN]; /* UTF-8 */
};
enum prompt_result { PROMPT_GOES_ON, PROMPT_DONE, PROMPT_DROPPED };

/* Asks a question with `text` as the answer to edit. */
void prompt_start(struct prompt *p, const char *question, const char *text);
/* Handles a key while the question is open: characters, backspace (a whole character), Ctrl-U (all), Enter
 * (done), Escape and Ctrl-C (cancelled). Drops characters without room. The question stays open until
 * prompt_end(). */
enum prompt_result prompt_key(struct prompt *p, int code);
void prompt_end(struct prompt *p);

#endif
