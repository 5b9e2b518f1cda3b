/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/dynamic.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

#define KEYS_MAX 4000

/* Whether the line has the word "key=...". */
static bool has_key(const char *line, const char *key)
{
    size_t len = strlen(key);

    for (const char *at = line; at && *at;) {
        at += strspn(at, " ");
        if (!strncasecmp(at, key, len) && at[len] == '=')
            return true;
        at += strcspn(at, " ");
    }
    return false;
}

static int check_given(const char *given, struct err *err)
{
    if (strlen(given) > KEYS_MAX)
        return err_set(err, -ERR_TOO_BIG, "--conf: more than %d bytes", KEYS_MAX);
    for (const char *p = given; *p; p++)
        if (iscntrl((unsigned char)*p) || strchr("#\\", *p))
            return err_set(err, -ERR_PARSE, "--conf: no control characters, # or \\ are allowed");
    if (has_key(given, "NodeName"))
        return err_set(err, -ERR_PARSE, "--conf: the name of the node is given by -N");
    if (has_key(given, "State"))
        return err_set(err, -ERR_PARSE, "--conf: State is that of a node that is there");
    return 0;
}

int dynamic_keys(const struct hw *hw, const char *given, struct str *out, struct err *err)
{
    static const char *const shape[] = {"CPUs",          "Procs",           "Boards",
                                        "Sockets",       "SocketsPerBoard", "CoresPerSocket",
                                        "ThreadsPerCore"};
    bool shaped = false;
    int rc = given ? check_given(given, err) : 0;

    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        shaped = shaped || has_key(given, shape[i]);
    if (!shaped)
        str_printf(out, "CPUs=%u Boards=%u SocketsPerBoard=%u CoresPerSocket=%u ThreadsPerCore=%u ",
                   hw->cpus, hw->boards, hw->sockets, hw->cores, hw->threads);
    if (!has_key(given, "RealMemory"))
        str_printf(out, "RealMemory=%llu ", (unsigned long long)hw->real_memory_mib);
    str_puts(out, given);
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    return 0;
}

int dynamic_line(struct slurmd *d, const char *node, const char *keys, struct err *err)
{
    struct str line = STR_INIT;
    struct hw hw = {0};
    int rc = hw_detect("/tmp", &hw, err);

    if (!rc)
        rc = dynamic_keys(&hw, keys, &line, err);
    if (rc) {
        str_done(&line);
        return rc;
    }
    d->name = mem_strdup(node ? node : d->host);
    d->dynamic = str_take(&line);
    d->own_line = mem_printf("NodeName=%s %s\n", d->name, d->dynamic);
    return 0;
}
