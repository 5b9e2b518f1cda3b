/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: a line of an exported state. An accepted line is formatted to a line that parses to the
 * same record. */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/sluice/state_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str first = STR_INIT, second = STR_INIT, name = STR_INIT;
    struct state_line line = {0}, again = {0};
    arena_init(&arena, 0);
    if (state_line_parse((const char *)data, size, &arena, &line, NULL) != 0)
        return 0;
    state_line_format(&line, &first);
    if (state_line_parse(first.data, first.len - 1, &arena, &again, NULL) != 0)
        abort();
    state_line_format(&again, &second);
    if (!str_eq(str_cstr(&first), str_cstr(&second)) || state_line_order(&line, &again) != 0)
        abort();
    state_line_name(&line, &name);
    return 0;
}
