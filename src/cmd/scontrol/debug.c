/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scontrol says about errors, and how much the controller says. */
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/common/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "conf/conf_debug.h"
#include "proto/ctl.pb-c.h"

int run_errnumstr(int argc, char **argv)
{
    long long number;
    if (str_parse_i64(argv[0], INT32_MIN, INT32_MAX, &number) < 0) {
        cmd_line("numeric arguments required for keyword:errnumstr");
        return 1;
    }
    const char *text = err_text((int)number);
    str_puts(cmd_out(), text);
    if (str_eq(text, "Unknown error"))
        str_printf(cmd_out(), " %lld", number);
    str_putc(cmd_out(), '\n');
    return 0;
}

int set_debug(const char *level)
{
    Pb__DebugRequest request = PB__DEBUG_REQUEST__INIT;
    struct err err = {0};
    int number = log_parse_level(level);
    if (number < 0) {
        cmd_line("invalid debug level: %s", level);
        return 1;
    }
    request.level = (uint32_t)number;
    if (cmd_call(RPC_SET_DEBUG, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_set_debug_level error: %s", err.text);
        return 1;
    }
    return 0;
}

int run_setdebugflags(int argc, char **argv)
{
    Pb__DebugFlagsRequest request = PB__DEBUG_FLAGS_REQUEST__INIT;
    struct err err = {0};
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!strncasecmp(word, "nodes=", 6)) {
            cmd_line("setdebugflags: nodes= is not supported: set DebugFlags in slurm.conf");
            return 1;
        }
        if ((*word != '+' && *word != '-') || conf_debug_find(word + 1, strlen(word + 1)) < 0) {
            cmd_line("invalid debug flag: %s", word);
            return 1;
        }
    }
    request.change = argv;
    request.n_change = (size_t)argc;
    if (cmd_call(RPC_SET_DEBUG_FLAGS, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_set_debugflags error: %s", err.text);
        return 1;
    }
    return 0;
}

int run_setdebug(int argc, char **argv)
{
    return set_debug(argv[0]);
}
