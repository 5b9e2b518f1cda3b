/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --tres-bind, the general form of --gpu-bind; and --gpu-freq, of which only the syntax is checked.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cli/bind.h"
#include "cli/gpu_bind.h"
#include "cli/opt_priv.h"

#define COUNT_MAX 65535
#define DECIMAL "0123456789"
#define HEXADECIMAL "0123456789abcdefABCDEF"
#define VERBOSE "verbose,"

static const struct word {
    const char *name;
    enum { ALONE, COUNT, MAP, MASK } value;
} words[] = {{"none", ALONE},   {"closest", ALONE}, {"per_task", COUNT},
             {"single", COUNT}, {"map", MAP},       {"mask", MASK}};

static bool is_count(const char *text, size_t len)
{
    _cleanup_free_ char *copy = mem_strndup(text, len);
    long long count;

    return str_parse_i64(copy, 1, COUNT_MAX, &count) == 0;
}

/* Whether the text is a list such as "0,1*4", or of masks such as "0x3,c". */
static bool is_list(const char *text, bool mask)
{
    for (;;) {
        size_t len = strcspn(text, ","), star;

        if (mask && !strncasecmp(text, "0x", 2)) {
            text += 2;
            len -= 2;
        }
        star = strspn(text, mask ? HEXADECIMAL : DECIMAL);
        if (!star || star > len ||
            (star < len && (text[star] != '*' || !is_count(text + star + 1, len - star - 1))))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static bool is_type(const char *type)
{
    size_t len = strcspn(type, ":");
    const char *value = type[len] ? type + len + 1 : NULL;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct word *w = &words[i];

        if (strlen(w->name) != len || strncasecmp(w->name, type, len) != 0)
            continue;
        return w->value == ALONE   ? !value
               : w->value == COUNT ? value && is_count(value, strlen(value))
                                   : value && is_list(value, w->value == MASK);
    }
    return false;
}

static bool is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return len > 0;
}

/* Converts to the form of --gpu-bind. */
static char *for_gpus(const char *bind)
{
    size_t verbose = strncasecmp(bind, VERBOSE, strlen(VERBOSE)) ? 0 : strlen(VERBOSE);
    const char *type = bind + verbose;
    bool listed = !strncasecmp(type, "map:", 4) || !strncasecmp(type, "mask:", 5);
    size_t word = listed ? strcspn(type, ":") : 0;

    return mem_printf("%.*s%.*s%s%s", (int)verbose, bind, (int)word, type, listed ? "_gpu" : "",
                      type + word);
}

static bool read_part(struct opt *o, char *part)
{
    const char *name = part + strlen("gres/");
    size_t len;

    if (strncasecmp(part, "gres/", strlen("gres/")) != 0)
        return false;
    len = strcspn(name, ":");
    if (!is_name(name, len) || !name[len])
        return false;
    const char *bind = name + len + 1;
    size_t verbose = strncasecmp(bind, VERBOSE, strlen(VERBOSE)) ? 0 : strlen(VERBOSE);
    if (!is_type(bind + verbose))
        return false;
    if (len == 3 && !strncmp(name, "gpu", 3)) {
        if (o->tres_bind_gpu)
            return false; /* given twice */
        o->tres_bind_gpu = for_gpus(bind);
    } else if (!(o->in_job && o->source == OPT_FROM_ENV)) { /* reported for the job */
        opt_note(o, OPT_ID_tres_bind,
                 "option --tres-bind=%s has no effect: tasks can have GPUs of their own, and "
                 "nothing else",
                 part);
    }
    return true;
}

int opt_set_tres_bind(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(arg);
    char *save = NULL, *part = strtok_r(copy, "+", &save);
    bool good = part != NULL;

    free(take_ptr(o->tres_bind_gpu));
    for (; part && good; part = strtok_r(NULL, "+", &save))
        good = read_part(o, part);
    if (!good)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --tres-bind specification: %s: it is gres/NAME:[verbose,]TYPE, "
                        "with + before a further one, and TYPE none, closest, per_task:N, "
                        "single:N, map:LIST or mask:LIST",
                        arg);
    opt_set_string(&o->tres_bind, arg);
    return 0;
}

const char *opt_gpu_bind(const struct opt *o)
{
    bool rather = o->tres_bind_gpu && o->from[OPT_ID_tres_bind] > o->from[OPT_ID_gpu_bind];

    return rather || !o->gpu_bind ? o->tres_bind_gpu : o->gpu_bind;
}

/* srun reads the bindings itself. Requested help is printed after opt_finish(). */
int opt_check_binding(struct opt *o, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    const char *gpus = opt_gpu_bind(o);
    Pb__GpuBind *gpu;
    Pb__Bind *memory;
    int rc = 0;

    arena_init(&arena, 0);
    if (o->command == OPT_SRUN)
        return 0;
    if (o->mem_bind)
        rc = bind_read_memory(o->mem_bind, &arena, &memory, err);
    if (rc == 0 && gpus && !str_eq(gpus, "help"))
        rc = gpu_bind_read(gpus, &arena, &gpu, err);
    if (rc >= 0)
        return 0;
    o->failure = OPT_FAIL_ERROR;
    o->exit_status = OPT_STATUS_BAD_VALUE;
    return rc;
}

/* --- --gpu-freq ---------------------------------------------------------------------------------
 */

static bool is_speed(const char *text)
{
    static const char *const speeds[] = {"low", "medium", "highm1", "high"};
    long long mhz;

    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (!strcasecmp(text, speeds[i]))
            return true;
    return str_parse_i64(text, 1, INT32_MAX, &mhz) == 0;
}

/* GPU, memory and verbose at most once each; verbose must not be alone. */
static bool is_gpu_freq(char *text)
{
    unsigned gpu = 0, memory = 0, verbose = 0;
    char *save = NULL;

    for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        bool of_memory = !strncasecmp(w, "memory=", strlen("memory="));

        if (!strcasecmp(w, "verbose")) {
            verbose++;
            continue;
        }
        if (!is_speed(of_memory ? w + strlen("memory=") : w))
            return false;
        *(of_memory ? &memory : &gpu) += 1;
    }
    return gpu <= 1 && memory <= 1 && verbose <= 1 && gpu + memory > 0;
}

int opt_set_gpu_freq(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(arg);

    if (!is_gpu_freq(copy))
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --gpu-freq specification: %s: it is VALUE[,memory=VALUE]"
                        "[,verbose], and VALUE a number of MHz, low, medium, highm1 or high",
                        arg);
    opt_set_string(&o->gpu_freq, arg);
    return 0;
}
