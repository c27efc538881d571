/* SPDX-License-Identifier: Apache-2.0 */
/* line_words.c - see line_words.h. */
#include "cli/options/line_words.h"

#include "cli/options/quote.h"

#include <string.h>

/* Returns "-c" or "-C"; NULL if neither is given. */
static const char *check_word(const struct options *options)
{
    return options->check == CHECK_SHOW ? "-c" : options->check == CHECK_QUIET ? "-C" : NULL;
}

/* Returns the option for an action other than sorting: -c, -C or -m; NULL: none. */
static const char *action_word(const struct options *options)
{
    const char *const check = check_word(options);
    return check ? check : options->merge ? "-m" : NULL;
}

const char *line_words_find(const struct options *options)
{
    const struct order_words *const order = &options->order;
    const struct order_letters *const letters = &order->letters;
    const char *const action = action_word(options);
    return action                       ? action
           : order->key_count > 0       ? "-k"
           : letters->general           ? "-g"
           : letters->human             ? "-h"
           : letters->numeric           ? "-n"
           : order->separator_said      ? "-t"
           : letters->skip_begin_blanks ? "-b"
           : order->zero_terminated     ? "-z"
           : options->header_said       ? "--header"
                                        : NULL;
}

/* -c and -C read one input and write nothing. The messages are as in sort(1). */
static bool check_operands(const struct options *options, struct error *error)
{
    const char *const check = check_word(options);
    struct quoted quoted;
    if (check && options->input_count > 1)
        return error_set(error, "extra operand %s not allowed with %s",
                         quote_word(options->inputs[1], &quoted), check);
    if (check && options->output)
        return error_set(error, "options '-%so' are incompatible", check + 1);
    if (check && options->verify)
        return error_set(error, "--verify is for what is written, and %s writes nothing", check);
    return true;
}

/* Without sorting, there is nothing to select and no device or path to choose. */
static bool check_action(const struct options *options, struct error *error)
{
    const char *const action = action_word(options);
    const char *const refused = !action               ? NULL
                                : options->top_said   ? "--top"
                                : options->index_type ? "--argsort"
                                : options->algorithm  ? "--algorithm"
                                : options->backend && strcmp(options->backend, "cpu") != 0
                                    ? "--device=gpu"
                                    : NULL;
    return !refused || error_set(error, "%s is for sorting, and %s sorts nothing", refused, action);
}

bool line_words_check(const struct options *options, struct error *error)
{
    const char *const word = line_words_find(options);
    if (!check_operands(options, error) || !check_action(options, error))
        return false;
    if (word && options->input_format && options->input_format != &format_text)
        return error_set(error, "%s is for lines of text, and --format=%s is not", word,
                         options->input_format->name);
    if (word && options->type)
        return error_set(error, "%s is for lines of text, and --type makes numbers of them", word);
    return true;
}

bool line_words_refuse(const struct options *options, const struct format *input_format,
                       const struct format *output_format, struct error *error)
{
    const char *const line_word = line_words_find(options);
    const char *const word = line_word ? line_word : options->order.unique ? "-u" : NULL;
    if (!word)
        return true;
    if (input_format != &format_text)
        return error_set(error,
                         "%s is for lines of text, and the input is %s: leave %s out, or convert "
                         "it first (--output-format=text)",
                         word, input_format->name, word);
    if (options->type)
        return error_set(error, "%s is for lines of text, and --type makes numbers of them", word);
    return error_set(error,
                     "%s is for lines of text, and %s output would not keep them: say "
                     "--output-format=text",
                     word, output_format->name);
}
