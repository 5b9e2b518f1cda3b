/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpufreq/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX 4096 /* a page: the maximum size of such a file */
#define SPEEDS_MAX 512

/* cpuN/cpufreq is a symbolic link if the kernel has policies. */
static int open_dir(int root, uint32_t cpu)
{
    char name[40];
    int fd;

    snprintf(name, sizeof(name), "cpu%u/cpufreq", cpu);
    fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int read_text(int dir, const char *file, char text[TEXT_MAX])
{
    _cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

    text[n > 0 ? n : 0] = '\0';
    if (n < 0)
        return -errno;
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

/* Reads the number at the beginning; 0: none, as in scaling_setspeed with most governors. */
static uint32_t read_kernel_number(int dir, const char *file)
{
    char text[TEXT_MAX];
    unsigned long value;

    if (read_text(dir, file, text) || !isdigit((unsigned char)*text))
        return 0;
    value = strtoul(text, NULL, 10);
    return value < CONF_FREQ_WORD ? (uint32_t)value : 0;
}

/* Writes to an existing file, with one system call. */
static int write_text(int dir, uint32_t cpu, const char *file, const char *text, struct err *err)
{
    _cleanup_close_ int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n;

    do
        n = fd < 0 ? -1 : write(fd, text, strlen(text));
    while (n < 0 && fd >= 0 && errno == EINTR);
    return n < 0 ? err_set(err, -errno, "cannot write '%s' to %s of CPU %u: %s", text, file, cpu,
                           strerror(errno))
                 : 0;
}

static int write_number(int dir, uint32_t cpu, const char *file, uint32_t value, struct err *err)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    return write_text(dir, cpu, file, text, err);
}

int kernel_find(int root, uint32_t cpu, uint32_t *first)
{
    _cleanup_close_ int dir = open_dir(root, cpu);
    char text[TEXT_MAX];

    if (dir < 0)
        return -ENOENT;
    *first = cpu;
    if (!read_text(dir, "related_cpus", text) && isdigit((unsigned char)*text))
        *first = (uint32_t)strtoul(text, NULL, 10);
    if (*first > cpu) /* the list is in ascending order */
        *first = cpu;
    return 0;
}

int kernel_read(int root, uint32_t cpu, struct kernel_setting *out, struct err *err)
{
    _cleanup_close_ int dir = open_dir(root, cpu);
    struct kernel_setting s = {.min = read_kernel_number(dir, "scaling_min_freq"),
                               .max = read_kernel_number(dir, "scaling_max_freq"),
                               .speed = read_kernel_number(dir, "scaling_setspeed")};
    char text[TEXT_MAX];

    if (dir < 0 || !s.min || !s.max || read_text(dir, "scaling_governor", text) || !*text ||
        strlen(text) >= sizeof(s.governor) || strpbrk(text, " \t"))
        return err_set(err, -ERR_RANGE, "CPU %u does not say its frequencies and governor", cpu);
    memcpy(s.governor, text, strlen(text) + 1);
    if (strcmp(s.governor, "userspace") != 0)
        s.speed = 0;
    *out = s;
    return 0;
}

/* The kernel never accepts a minimum above the maximum, so the order of writes matters. */
int kernel_write(int root, uint32_t cpu, const struct kernel_setting *s, struct err *err)
{
    _cleanup_close_ int dir = open_dir(root, cpu);
    bool max_first = dir >= 0 && s->min > read_kernel_number(dir, "scaling_max_freq");
    int rc = 0;

    if (dir < 0)
        return err_set(err, -ERR_RANGE, "the frequency of CPU %u can no longer be set", cpu);
    if (max_first)
        rc = write_number(dir, cpu, "scaling_max_freq", s->max, err);
    if (!rc)
        rc = write_number(dir, cpu, "scaling_min_freq", s->min, err);
    if (!rc && !max_first)
        rc = write_number(dir, cpu, "scaling_max_freq", s->max, err);
    if (!rc)
        rc = write_text(dir, cpu, "scaling_governor", s->governor, err);
    if (!rc && s->speed)
        rc = write_number(dir, cpu, "scaling_setspeed", s->speed, err);
    return rc;
}

/* --- resolving a request ---------------------------------------------------------------------- */

struct range {
    uint32_t low, high;
    uint32_t speed[SPEEDS_MAX]; /* ascending; count 0: the CPU does not list them */
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void read_range(int dir, struct range *r)
{
    char text[TEXT_MAX];

    *r = (struct range){.low = read_kernel_number(dir, "cpuinfo_min_freq"),
                        .high = read_kernel_number(dir, "cpuinfo_max_freq")};
    if (read_text(dir, "scaling_available_frequencies", text))
        return;
    for (char *at = text, *end; r->count < SPEEDS_MAX; at = end) {
        unsigned long value = strtoul(at, &end, 10);

        if (end == at)
            break;
        if (value > 0 && value < CONF_FREQ_WORD)
            r->speed[r->count++] = (uint32_t)value;
    }
    qsort(r->speed, r->count, sizeof(r->speed[0]), by_number);
}

/* 0: unknown. */
static uint32_t speed_of(const struct range *r, uint32_t wanted)
{
    bool listed = r->count > 0;

    switch (wanted) {
    case CONF_FREQ_LOW:
        return listed ? r->speed[0] : r->low;
    case CONF_FREQ_MEDIUM:
        return listed ? r->speed[(r->count - 1) / 2] : r->low + (r->high - r->low) / 2;
    case CONF_FREQ_HIGH:
        return listed ? r->speed[r->count - 1] : r->high;
    case CONF_FREQ_HIGHM1:
        return !listed ? 0 : r->speed[r->count > 1 ? r->count - 2 : 0];
    }
    return wanted;
}

static int find_speed(const struct range *r, uint32_t cpu, uint32_t wanted, uint32_t *out,
                      struct err *err)
{
    _cleanup_str_ struct str name = STR_INIT;
    uint32_t speed = speed_of(r, wanted);

    conf_freq_put(wanted, &name);
    if (!speed)
        return err_set(err, -ERR_RANGE, "CPU %u does not name its frequencies: %s is none", cpu,
                       str_cstr(&name));
    if ((r->low && speed < r->low) || (r->high && speed > r->high))
        return err_set(err, -ERR_RANGE, "CPU %u runs at %u to %u kHz: %s is out of bounds", cpu,
                       r->low, r->high, str_cstr(&name));
    *out = speed;
    return 0;
}

static int set_governor(int dir, uint32_t cpu, enum conf_governor g, struct kernel_setting *out,
                        struct err *err)
{
    char name[KERNEL_GOVERNOR_MAX], text[TEXT_MAX], *save = NULL;

    snprintf(name, sizeof(name), "%s", conf_governor_name(g));
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!read_text(dir, "scaling_available_governors", text)) {
        _cleanup_free_ char *all = mem_strdup(text);
        bool found = false;

        for (char *w = strtok_r(text, " ", &save); w && !found; w = strtok_r(NULL, " ", &save))
            found = !strcmp(w, name);
        if (!found)
            return err_set(err, -ERR_RANGE, "CPU %u has no governor %s; it has: %s", cpu, name,
                           str_trim(all));
    }
    memcpy(out->governor, name, sizeof(name));
    return 0;
}

static uint32_t clamp_speed(uint32_t speed, uint32_t min, uint32_t max)
{
    return speed < min ? min : speed > max ? max : speed;
}

/* Resolves a fixed frequency, which must be within the limits, or sets them. */
static int resolve_speed(int dir, uint32_t cpu, const struct conf_freq *want,
                         struct kernel_setting *out, struct err *err)
{
    struct range r;
    read_range(dir, &r);
    int rc = find_speed(&r, cpu, want->max, &out->speed, err);
    bool fixed = want->governor == CONF_GOVERNOR_USERSPACE;

    if (rc)
        return rc;
    out->min = fixed || out->speed < out->min ? out->speed : out->min;
    out->max = fixed || out->speed > out->max ? out->speed : out->max;
    return set_governor(dir, cpu, CONF_GOVERNOR_USERSPACE, out, err);
}

static int resolve_limits(int dir, uint32_t cpu, const struct conf_freq *want,
                          struct kernel_setting *out, struct err *err)
{
    struct range r;
    read_range(dir, &r);
    int rc = find_speed(&r, cpu, want->min, &out->min, err);

    if (!rc)
        rc = find_speed(&r, cpu, want->max, &out->max, err);
    if (!rc && out->min > out->max)
        rc = err_set(err, -ERR_RANGE, "of CPU %u the minimum, %u kHz, is above the maximum, %u kHz",
                     cpu, out->min, out->max);
    return rc;
}

int kernel_resolve(int root, uint32_t cpu, const struct conf_freq *want,
                   const struct kernel_setting *was, struct kernel_setting *out, struct err *err)
{
    _cleanup_close_ int dir = open_dir(root, cpu);
    struct kernel_setting s = *was;
    int rc = 0;

    if (dir < 0)
        return err_set(err, -ERR_RANGE, "the frequency of CPU %u cannot be set", cpu);
    if (want->max && !want->min)
        rc = resolve_speed(dir, cpu, want, &s, err);
    else if (want->min)
        rc = resolve_limits(dir, cpu, want, &s, err);
    if (!rc && want->governor)
        rc = set_governor(dir, cpu, want->governor, &s, err);
    if (rc)
        return rc;
    if (strcmp(s.governor, "userspace") != 0)
        s.speed = 0;
    else
        s.speed = clamp_speed(s.speed ? s.speed : read_kernel_number(dir, "scaling_cur_freq"),
                              s.min, s.max);
    *out = s;
    return 0;
}
