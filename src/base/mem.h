/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory. Our allocations never return NULL: running out of memory ends the process with a message
 * (this loses nothing that was acknowledged, see DESIGN rule 3). Callers limit sizes from outside
 * before they allocate.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Zeroed; freed with free() */
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_alloc_array(size_t count, size_t size)
    __attribute__((malloc, returns_nonnull)); /* zeroed */
void *mem_realloc(void *old, size_t size)
    __attribute__((returns_nonnull));        /* new bytes are not zeroed */
void *mem_dup(const void *src, size_t size); /* NULL for NULL */
char *mem_strdup(const char *s);             /* NULL for NULL */
char *mem_strndup(const char *s, size_t max);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

#define mem_new(type) ((type *)mem_alloc(sizeof(type)))
#define mem_new_array(type, count) ((type *)mem_alloc_array((count), sizeof(type)))

/* Zeroes memory that held a secret; the compiler does not optimise this away. */
void mem_wipe(void *p, size_t size);

static inline void mem_cleanup_free(void *p)
{
    free(*(void **)p);
}
static inline void mem_cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(mem_cleanup_free)
#define _cleanup_close_ _cleanup_(mem_cleanup_close)

/* Passes on a pointer or descriptor, and clears the variable for its cleanup attribute. */
#define take_ptr(p)                                                                                \
    ({                                                                                             \
        typeof(p) taken_ = (p);                                                                    \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })
static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}
