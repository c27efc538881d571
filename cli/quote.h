/* quote.h - a word of the user's as messages show it: as sort(1) quotes it in the C locale. */
#ifndef CLI_QUOTE_H
#define CLI_QUOTE_H

struct quoted {
    char text[1024]; /* a longer word is cut */
};

/* Fills *quoted with the word in single quotes, where backslashes, quotes and what cannot be
 * printed are escaped as in C; returns its text. */
const char *quote_word(const char *word, struct quoted *quoted);

#endif
