/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/gpu_bind.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/bind.h"

#define COUNT_MAX 65535

static const struct word {
    const char *name;
    Pb__GpuBindKind kind;
    enum { ALONE, COUNT, LIST } value;
} words[] = {
    {"none", PB__GPU_BIND_KIND__GPU_ALL, ALONE},
    {"closest", PB__GPU_BIND_KIND__GPU_CLOSEST, ALONE},
    {"per_task", PB__GPU_BIND_KIND__GPU_PER_TASK, COUNT},
    {"single", PB__GPU_BIND_KIND__GPU_SINGLE, COUNT},
    {"map", PB__GPU_BIND_KIND__GPU_MAP, LIST},
    {"mask", PB__GPU_BIND_KIND__GPU_MASK, LIST},
    {"map_gpu", PB__GPU_BIND_KIND__GPU_MAP, LIST},
    {"mask_gpu", PB__GPU_BIND_KIND__GPU_MASK, LIST},
};

static int refuse_gpu_bind(const char *text, const char *why, struct err *err)
{
    return err_set(
        err, -ERR_BIND,
        "Invalid --gpu-bind argument: %s: %s; it is [verbose,]none, closest, per_task:N, "
        "single:N, map:LIST or mask:LIST",
        text, why);
}

static Pb__GpuBind *make_bind(Pb__GpuBindKind kind, uint32_t count, struct arena *arena)
{
    Pb__GpuBind *b = arena_alloc(arena, sizeof(*b));

    pb__gpu_bind__init(b);
    b->kind = kind;
    b->has_count = count > 0;
    b->count = count;
    return b;
}

static bool is_entry(const char *text, bool mask)
{
    const char *digits = mask ? "0123456789abcdefABCDEF" : "0123456789";

    if (mask && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    return *text != '\0' && text[strspn(text, digits)] == '\0';
}

static int read_value(const struct word *w, const char *value, const char *text,
                      struct arena *arena, Pb__GpuBind *b, struct err *err)
{
    long long count = 1;

    if (w->value == ALONE)
        return value ? refuse_gpu_bind(text, "it takes no value", err) : 0;
    if (w->value == LIST) {
        if (!value || !bind_read_list(value, arena, &b->list, &b->n_list))
            return refuse_gpu_bind(text, "a list is missing, or is none", err);
        for (size_t i = 0; i < b->n_list; i++)
            if (!is_entry(b->list[i], w->kind == PB__GPU_BIND_KIND__GPU_MASK))
                return refuse_gpu_bind(text, "an entry is not a number", err);
        return 0;
    }
    if (value && str_parse_i64(value, 1, COUNT_MAX, &count) < 0)
        return refuse_gpu_bind(text, "a number from 1 to 65535 is missing", err);
    b->has_count = true;
    b->count = (uint32_t)count;
    return 0;
}

int gpu_bind_read(const char *text, struct arena *arena, Pb__GpuBind **out, struct err *err)
{
    bool verbose = strncasecmp(text, "verbose,", strlen("verbose,")) == 0;
    const char *type = text + (verbose ? strlen("verbose,") : 0);
    size_t len = strcspn(type, ":");

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct word *w = &words[i];

        if (strlen(w->name) != len || strncasecmp(w->name, type, len) != 0)
            continue;
        *out = make_bind(w->kind, 0, arena);
        (*out)->has_verbose = (*out)->verbose = verbose;
        return read_value(w, type[len] ? type + len + 1 : NULL, text, arena, *out, err);
    }
    return refuse_gpu_bind(text, "not a type", err);
}

/* The count in "gpu", "gpu:2", "gpu:a100:2"; 0: not GPUs. */
static uint32_t gpus_in(const char *entry)
{
    const char *last = strrchr(entry, ':');
    long long count = 1;

    if (strncasecmp(entry, "gpu", 3) != 0 || (entry[3] != '\0' && entry[3] != ':'))
        return 0;
    if (last && str_parse_i64(last + 1, 0, COUNT_MAX, &count) < 0)
        count = 1; /* only a type */
    return (uint32_t)count;
}

Pb__GpuBind *gpu_bind_implied(const char *task_gres, uint32_t tasks_per_gpu, struct arena *arena)
{
    uint32_t count = 0;

    words_foreach (task_gres, w) {
        const char *name = strncasecmp(w.at, "gres/", 5) == 0 || strncasecmp(w.at, "gres:", 5) == 0
                               ? w.at + 5
                               : w.at;
        _cleanup_free_ char *entry = mem_strndup(name, w.len - (size_t)(name - w.at));

        count += gpus_in(entry);
    }
    if (count)
        return make_bind(PB__GPU_BIND_KIND__GPU_PER_TASK, count, arena);
    if (tasks_per_gpu)
        return make_bind(PB__GPU_BIND_KIND__GPU_SINGLE, tasks_per_gpu, arena);
    return NULL;
}
