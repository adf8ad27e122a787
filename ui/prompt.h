/* A line that is typed in place: the note of a mark, a filter, a time. One thread. */
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
/* A key while the question stands: characters, backspace (a whole character), Ctrl-U (all), Enter
 * (done), Escape and Ctrl-C (dropped). Characters without room are left out. The question stays until
 * prompt_end(). */
enum prompt_result prompt_key(struct prompt *p, int code);
void prompt_end(struct prompt *p);

#endif
