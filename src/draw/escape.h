/* Texts from anywhere, made harmless for what they are put into. Bytes that are no UTF-8, control characters
 * (but tab and newline, where the text may have lines), characters that turn the direction of the text around
 * them, and what XML does not know become U+FFFD. Any thread. */
#ifndef KVF_DRAW_ESCAPE_H
#define KVF_DRAW_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* For text and for attributes of HTML and XML: & < > " ' as references. Newlines and tabs stay. */
void escape_xml(const char *text, struct buf *out);
/* The same, at most so many characters of it, the last of which says that it was cut. */
void escape_xml_cut(const char *text, size_t most, struct buf *out);
/* For Markdown as GitHub has it: on one line, and nothing in it is markup, not even in a cell of a table. */
void escape_markdown(const char *text, struct buf *out);
/* For plain text, as utf8_clean() does it: on one line unless `lines`; ASCII alone if so wanted. */
void escape_plain(const char *text, bool lines, bool ascii, struct buf *out);

#endif
