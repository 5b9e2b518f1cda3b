/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/bind_default.h"

#include <string.h>

#include "base/str.h"
#include "base/words.h"

static Pb__Bind *get_bind(struct arena *arena, Pb__Bind **bind)
{
    if (!*bind) {
        *bind = arena_alloc(arena, sizeof(**bind));
        pb__bind__init(*bind);
    }
    return *bind;
}

static void set_kind(Pb__BindKind kind, struct arena *arena, Pb__Bind **bind)
{
    if (kind == PB__BIND_KIND__BIND_AUTO || (*bind && (*bind)->has_kind))
        return;
    get_bind(arena, bind)->has_kind = 1;
    (*bind)->kind = kind;
}

static Pb__BindKind of_hint(const char *hint)
{
    if (str_case_eq(hint, "compute_bound") || str_case_eq(hint, "memory_bound"))
        return PB__BIND_KIND__BIND_CORES;
    if (str_case_eq(hint, "multithread") || str_case_eq(hint, "nomultithread"))
        return PB__BIND_KIND__BIND_THREADS;
    return PB__BIND_KIND__BIND_AUTO;
}

static Pb__BindKind implied_kind(const struct opt *o)
{
    if (opt_given(o, OPT_ID_hint))
        return of_hint(o->given[OPT_ID_hint]);
    if (o->threads_per_core)
        return PB__BIND_KIND__BIND_THREADS;
    if (opt_given(o, OPT_ID_extra_node_info) && o->cores_per_socket)
        return PB__BIND_KIND__BIND_CORES;
    if (opt_given(o, OPT_ID_extra_node_info) && o->sockets_per_node)
        return PB__BIND_KIND__BIND_SOCKETS;
    if (opt_given(o, OPT_ID_ntasks_per_core))
        return o->ntasks_per_core > 1 ? PB__BIND_KIND__BIND_THREADS : PB__BIND_KIND__BIND_CORES;
    return opt_given(o, OPT_ID_ntasks_per_socket) ? PB__BIND_KIND__BIND_SOCKETS
                                                  : PB__BIND_KIND__BIND_AUTO;
}

void bind_imply(const struct opt *o, struct arena *arena, Pb__Bind **bind)
{
    set_kind(implied_kind(o), arena, bind);
    if (!o->threads_per_core)
        return;
    get_bind(arena, bind)->has_threads_per_core = 1;
    (*bind)->threads_per_core = o->threads_per_core;
}

bool bind_spreads(const struct dist *d, const Pb__Bind *bind)
{
    if (d->cores)
        return d->cores != DIST_BLOCK;
    return d->sockets != DIST_BLOCK || !bind || bind->kind != PB__BIND_KIND__BIND_THREADS;
}

/* "core" and "cores" mean the same. */
static Pb__BindKind find_kind(const char *word, size_t len)
{
    static const struct {
        const char *word;
        Pb__BindKind kind;
    } words[] = {{"none", PB__BIND_KIND__BIND_NONE},
                 {"threads", PB__BIND_KIND__BIND_THREADS},
                 {"cores", PB__BIND_KIND__BIND_CORES},
                 {"sockets", PB__BIND_KIND__BIND_SOCKETS},
                 {"ldoms", PB__BIND_KIND__BIND_LDOMS}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t full = strlen(words[i].word);
        bool one = words[i].word[full - 1] == 's' && len == full - 1;
        if ((len == full || one) && strncasecmp(words[i].word, word, len) == 0)
            return words[i].kind;
    }
    return PB__BIND_KIND__BIND_AUTO;
}

/* Handles "verbose", "autobind=threads", and the words of find_kind(). */
static void settle_word(const char *word, size_t len, struct arena *arena, Pb__Bind **bind)
{
    static const char automatic[] = "autobind=";
    size_t skip = sizeof(automatic) - 1;

    if (len == 7 && strncasecmp(word, "verbose", 7) == 0) {
        Pb__Bind *b = get_bind(arena, bind);
        b->has_verbose = 1;
        b->verbose = b->verbose || !b->quiet;
    } else if (len > skip && strncasecmp(word, automatic, skip) == 0) {
        get_bind(arena, bind)->has_otherwise = 1;
        (*bind)->otherwise = find_kind(word + skip, len - skip);
    } else {
        set_kind(find_kind(word, len), arena, bind);
    }
}

void bind_settle(const char *cpu_bind, const char *param, struct arena *arena, Pb__Bind **bind)
{
    if (cpu_bind)
        set_kind(find_kind(cpu_bind, strlen(cpu_bind)), arena, bind);
    words_foreach (param, w) {
        settle_word(w.at, w.len, arena, bind);
    }
}
