/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bind.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define LIST_MAX 65536 /* maximum number of entries, including repetitions */

struct word {
    const char *name;
    size_t least; /* minimum length of an abbreviation */
    enum { IS_KIND, IS_VERBOSE, IS_QUIET, IS_PREFER, IS_SORT, IS_NOTHING, IS_HELP } is;
    Pb__BindKind kind;
    bool list;
};

static const struct word cpu_words[] = {
    {"quiet", 1, IS_QUIET, 0, false},
    {"verbose", 1, IS_VERBOSE, 0, false},
    {"help", 4, IS_HELP, 0, false},
    {"none", 2, IS_KIND, PB__BIND_KIND__BIND_NONE, false},
    {"threads", 6, IS_KIND, PB__BIND_KIND__BIND_THREADS, false},
    {"cores", 4, IS_KIND, PB__BIND_KIND__BIND_CORES, false},
    {"sockets", 6, IS_KIND, PB__BIND_KIND__BIND_SOCKETS, false},
    {"ldoms", 4, IS_KIND, PB__BIND_KIND__BIND_LDOMS, false},
    {"rank", 4, IS_KIND, PB__BIND_KIND__BIND_RANK, false},
    {"rank_ldom", 9, IS_KIND, PB__BIND_KIND__BIND_RANK_LDOM, false},
    {"map_cpu", 7, IS_KIND, PB__BIND_KIND__BIND_MAP, true},
    {"mask_cpu", 8, IS_KIND, PB__BIND_KIND__BIND_MASK, true},
    {"map_ldom", 8, IS_KIND, PB__BIND_KIND__BIND_MAP_LDOM, true},
    {"mask_ldom", 9, IS_KIND, PB__BIND_KIND__BIND_MASK_LDOM, true},
    {NULL, 0, IS_NOTHING, 0, false},
};
static const struct word memory_words[] = {
    {"quiet", 1, IS_QUIET, 0, false},
    {"verbose", 1, IS_VERBOSE, 0, false},
    {"help", 4, IS_HELP, 0, false},
    {"prefer", 1, IS_PREFER, 0, false},
    {"sort", 4, IS_SORT, 0, false},
    {"nosort", 6, IS_NOTHING, 0, false},
    {"none", 2, IS_KIND, PB__BIND_KIND__BIND_NONE, false},
    {"local", 5, IS_KIND, PB__BIND_KIND__BIND_LOCAL, false},
    {"rank", 4, IS_KIND, PB__BIND_KIND__BIND_RANK, false},
    {"map_mem", 7, IS_KIND, PB__BIND_KIND__BIND_MAP, true},
    {"mask_mem", 8, IS_KIND, PB__BIND_KIND__BIND_MASK, true},
    {NULL, 0, IS_NOTHING, 0, false},
};

static const struct word *find_bind_word(const struct word *words, const char *text, size_t len)
{
    for (const struct word *w = words; w->name; w++)
        if (len >= w->least && len <= strlen(w->name) && strncasecmp(w->name, text, len) == 0)
            return w;
    return NULL;
}

static int refuse_bind(struct err *err, const char *option, const char *text, const char *why)
{
    return err_set(err, -ERR_BIND, "Invalid --%s argument: %s: %s; --%s=help lists what there is",
                   option, text, why, option);
}

bool bind_read_list(const char *text, struct arena *arena, char ***list, size_t *count)
{
    size_t room = 0, n = 0;

    for (const char *at = text; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        size_t len = strcspn(at, ","), name = strcspn(at, "*,");
        char *end = (char *)at + len;
        unsigned long times = at[name] == '*' ? strtoul(at + name + 1, &end, 10) : 1;

        if (!name || end != at + len || (at[name] == '*' && !isdigit((unsigned char)at[name + 1])))
            return false;
        if (times > LIST_MAX - n)
            return false;
        while (n + times > room) {
            char **more = arena_alloc(arena, (room = room * 2 + 64) * sizeof(*more));
            for (size_t i = 0; i < n; i++)
                more[i] = (*list)[i];
            *list = more;
        }
        char *entry = arena_printf(arena, "%.*s", (int)name, at);
        while (times-- > 0)
            (*list)[n++] = entry;
    }
    *count = n;
    return n > 0;
}

static int apply_word(const struct word *w, const char *option, const char *text, const char *list,
                      struct arena *arena, Pb__Bind *b, struct err *err)
{
    switch (w->is) {
    case IS_HELP:
        return 1;
    case IS_QUIET:
        b->has_quiet = b->quiet = true;
        return 0;
    case IS_VERBOSE:
        b->has_verbose = b->verbose = true;
        return 0;
    case IS_PREFER:
        b->has_prefer = b->prefer = true;
        return 0;
    case IS_SORT:
        b->has_sort = b->sort = true;
        return 0;
    case IS_NOTHING:
        return 0;
    case IS_KIND:
        break;
    }
    if (b->has_kind)
        return refuse_bind(err, option, text, "two types");
    b->has_kind = true;
    b->kind = w->kind;
    if (w->list && (!list || !bind_read_list(list, arena, &b->list, &b->n_list)))
        return refuse_bind(err, option, text, "a list is missing, or is none");
    return 0;
}

static int bind_read(const char *option, const struct word *words, const char *text,
                     struct arena *arena, Pb__Bind **out, struct err *err)
{
    Pb__Bind *b = arena_alloc(arena, sizeof(*b));

    pb__bind__init(b);
    b->text = arena_printf(arena, "%s", text);
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",:=");
        bool list = at[len] == ':' || at[len] == '=';
        const struct word *w = find_bind_word(words, at, len);

        if (!w || (list && !w->list))
            return refuse_bind(err, option, text, list && w ? "it takes no list" : "not a type");
        int rc = apply_word(w, option, text, list ? at + len + 1 : NULL, arena, b, err);
        if (rc)
            return rc;
        at += list ? strlen(at) : len + (at[len] == ',');
    }
    *out = b;
    return 0;
}

int bind_read_cpu(const char *text, struct arena *arena, Pb__Bind **out, struct err *err)
{
    return bind_read("cpu-bind", cpu_words, text, arena, out, err);
}

int bind_read_memory(const char *text, struct arena *arena, Pb__Bind **out, struct err *err)
{
    return bind_read("mem-bind", memory_words, text, arena, out, err);
}
