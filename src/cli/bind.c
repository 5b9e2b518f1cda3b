/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/words.h"
#include "cli/bind.h"

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

const char *bind_help_cpu(void)
{
    return "CPU bind options:\n"
           "    --cpu-bind=         Bind tasks to CPUs\n"
           "        q[uiet]         quietly bind before task runs (default)\n"
           "        v[erbose]       verbosely report binding before task runs\n"
           "        no[ne]          don't bind tasks to CPUs\n"
           "        rank            bind by task rank\n"
           "        map_cpu:<list>  specify a CPU ID binding for each task\n"
           "        mask_cpu:<list> specify a CPU ID binding mask for each task\n"
           "                        where <list> is <id1>,<id2>,... or <id1>*<times>,...\n"
           "        rank_ldom       bind task by rank to CPUs in a NUMA locality domain\n"
           "        map_ldom:<list> specify a NUMA locality domain ID for each task\n"
           "        mask_ldom:<list> specify a NUMA locality domain ID mask for each task\n"
           "        sockets         auto-generated masks bind to sockets\n"
           "        cores           auto-generated masks bind to cores\n"
           "        threads         auto-generated masks bind to threads\n"
           "        ldoms           auto-generated masks bind to NUMA locality domains\n"
           "        help            show this help message\n";
}

const char *bind_help_memory(void)
{
    return "Memory bind options:\n"
           "    --mem-bind=         Bind memory to locality domains (ldom)\n"
           "        nosort, sort    accepted: they say nothing here\n"
           "        q[uiet]         quietly bind before task runs (default)\n"
           "        v[erbose]       verbosely report binding before task runs\n"
           "        p[refer]        prefer that memory, and take other when there is no more\n"
           "        no[ne]          don't bind tasks to memory (default)\n"
           "        rank            bind by task rank\n"
           "        local           bind to memory local to processor\n"
           "        map_mem:<list>  specify a memory binding for each task\n"
           "        mask_mem:<list> specify a memory binding mask for each tasks\n"
           "                        where <list> is <numa_id1>,<numa_id2>,...\n"
           "        help            show this help message\n";
}

static const char *help_gpu(void)
{
    return "GPU bind options:\n"
           "    --gpu-bind=         Tell each task of some of the step's GPUs\n"
           "        verbose         report what each task is told of; before the others\n"
           "        none            tell each task of all of them\n"
           "        closest         those in the locality domains of the task's CPUs\n"
           "        per_task:<n>    <n> of its own for each task\n"
           "        single:<n>      one of the closest for each task, <n> tasks a GPU\n"
           "        map:<list>      specify a GPU for each task\n"
           "        mask:<list>     specify a mask of GPUs for each task\n"
           "                        where <list> is <id1>,<id2>,... or <id1>*<times>,...\n"
           "        help            show this help message\n";
}

static const char *help_hint(void)
{
    return "Application hint options:\n"
           "    --hint=             Allocate and bind according to application hints\n"
           "        compute_bound   one thread of each core\n"
           "        memory_bound    one thread of each core, and one task a socket\n"
           "        nomultithread   one thread of each core\n"
           "        multithread     all threads of each core (default)\n"
           "        help            show this help message\n";
}

static void print_gres(const char *types)
{
    puts("Valid gres options are:");
    words_foreach (types, w) {
        printf("%.*s[[:type]:count]\n", (int)w.len, w.at);
    }
}

bool bind_help_print(const struct opt *o, const char *gres_types)
{
    if (str_eq(o->given[OPT_ID_gres], "help")) {
        print_gres(gres_types);
        return true;
    }
    const char *text = str_eq(o->cpu_bind, "help")   ? bind_help_cpu()
                       : str_eq(o->mem_bind, "help") ? bind_help_memory()
                       : str_eq(o->gpu_bind, "help") ? help_gpu()
                       : o->hint_help                ? help_hint()
                                                     : NULL;

    if (text)
        fputs(text, stdout);
    return text != NULL;
}
