/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cli/opt.h"
#include "show/json_out.h"
#include "show/names.h"

#define LINE_MOST 1000 /* maximum bytes of a printed line */
#define LINE_HEAD 400  /* bytes kept at the start of a longer line */

static struct {
    const char *name;
    bool quiet;
    unsigned verbose;
    struct conf *conf;
    struct rpc_client *client;
    struct arena arena;
    struct str out;
} cmd;

void cmd_start(const char *name)
{
    int fd;
    cmd.name = name;
    arena_init(&cmd.arena, 0);
    time_set_date_format(getenv("SLURM_TIME_FORMAT"));
    /* Otherwise the first socket would get the number of a closed standard descriptor. */
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static void tell_backoff(const char *why)
{
    cmd_detail(1, "%s: waiting, then asking again", why);
}

const char *cmd_name(void)
{
    return cmd.name;
}

void cmd_set_level(bool quiet, unsigned verbose)
{
    cmd.quiet = quiet;
    cmd.verbose = verbose;
    rpc_on_backoff(tell_backoff);
}

/* A long line, which repeats long input, is shortened in the middle. */
static void put_line(const char *text, size_t len, struct str *out)
{
    if (len <= LINE_MOST) {
        text_escape_n(text, len, out);
    } else {
        text_escape_n(text, LINE_HEAD, out);
        str_puts(out, "[...]");
        text_escape_n(text + len - (LINE_MOST - LINE_HEAD), LINE_MOST - LINE_HEAD, out);
    }
    str_putc(out, '\n');
}

static void print_message(const char *prefix, const char *fmt, va_list ap)
{
    _cleanup_str_ struct str raw = STR_INIT, line = STR_INIT;
    str_vprintf(&raw, fmt, ap);
    if (prefix)
        str_printf(&line, "%s: %s", cmd.name, prefix);
    /* Keeps the message's own line breaks and escapes control characters within lines. */
    for (const char *s = str_cstr(&raw);;) {
        size_t len = strcspn(s, "\n");
        put_line(s, len, &line);
        s += len;
        if (!*s || !s[1])
            break;
        s++;
    }
    path_write_all(STDERR_FILENO, line.data, line.len);
}

void cmd_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_message("error: ", fmt, ap);
    va_end(ap);
}

void cmd_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!cmd.quiet)
        print_message("", fmt, ap);
    va_end(ap);
}

void cmd_detail(unsigned level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (cmd.verbose >= level && !cmd.quiet)
        print_message(level > 1 ? "debug: " : "", fmt, ap);
    va_end(ap);
}

void cmd_line(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_message(NULL, fmt, ap);
    va_end(ap);
}

const struct conf *cmd_conf(void)
{
    if (cmd.conf)
        return cmd.conf;
    struct err err = {0};
    if (conf_load_own(&cmd.conf, &err) < 0) {
        cmd_error("%s", err.text);
        exit(cmd_exit_error());
    }
    return cmd.conf;
}

const struct conf *cmd_conf_if_any(void)
{
    if (!cmd.conf)
        conf_load_own(&cmd.conf, NULL);
    return cmd.conf;
}

const struct json_out_source *cmd_source(void)
{
    static struct json_out_source source;
    source = (struct json_out_source){.command = cmd.name, .cluster = cmd_conf()->cluster_name};
    return &source;
}

struct rpc_client *cmd_client(void)
{
    if (!cmd.client)
        cmd.client = rpc_client_new(cmd_conf());
    return cmd.client;
}

int cmd_call(enum rpc_number rpc, const ProtobufCMessage *request, void *reply, struct err *err)
{
    return rpc_call(cmd_client(), rpc, request, 0, &cmd.arena, reply, err);
}

int cmd_call_long(enum rpc_number rpc, const ProtobufCMessage *request, void *reply,
                  struct err *err)
{
    return rpc_call(cmd_client(), rpc, request, RPC_WAIT_FOREVER, &cmd.arena, reply, err);
}

struct str *cmd_out(void)
{
    return &cmd.out;
}

int cmd_flush(void)
{
    int r = cmd.out.len ? path_write_all(STDOUT_FILENO, cmd.out.data, cmd.out.len) : 0;
    str_clear(&cmd.out);
    if (r == 0 || r == -EPIPE)
        return 0;
    cmd_error("standard output cannot be written: %s", strerror(-r));
    return 1;
}

int cmd_exit_error(void)
{
    return opt_exit_status("SLURM_EXIT_ERROR", 1);
}

bool cmd_find_user(const char *name, uint32_t *uid)
{
    if (names_find_user(name, uid) == 0)
        return true;
    cmd_error("Invalid user: %s", name);
    return false;
}

int cmd_check_clusters(const char *list, struct err *err)
{
    return opt_check_clusters(list, cmd_conf()->cluster_name, err);
}
