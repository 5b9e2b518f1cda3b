/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Defines the options of one command from its .def file, see args.h. The .c file that parses the
 * options includes this header once, after
 *
 *   #define ARGS_DEF "cmd/tool/tool.def"
 *
 * and gets ID_<id> for each row, and 'rows' for its table.
 */
#pragma once

#include "cli/args.h"

#define NO ARGS_NO
#define REQ ARGS_REQ
#define MAY ARGS_MAY

enum {
#define ARG(id, name, letter, argument, env, metavar, help) ID_##id,
#include ARGS_DEF
#undef ARG
};
static const struct args_row rows[] = {
#define ARG(id, name, letter, argument, env, metavar, help)                                        \
    {ID_##id, name, letter, argument, env, metavar, help},
#include ARGS_DEF
#undef ARG
};
#define ARGS_TABLE(program, operands)                                                              \
    {                                                                                              \
        rows, sizeof(rows) / sizeof(rows[0]), program, operands                                    \
    }

#undef NO
#undef REQ
#undef MAY
