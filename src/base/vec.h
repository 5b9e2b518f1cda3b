/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Typed growable arrays:
 *
 *   VEC(struct job *) jobs = {0};
 *   vec_push(&jobs, j);
 *   vec_foreach (&jobs, p)
 *       use(*p);
 *
 * Elements move when the array grows: never keep a pointer to an
 * element across a push. VEC32 is the same with smaller lengths, for structs with very many
 * instances.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *data;                                                                                \
        size_t len;                                                                                \
        size_t room;                                                                               \
    }

#define VEC32(type)                                                                                \
    struct {                                                                                       \
        type *data;                                                                                \
        uint32_t len;                                                                              \
        uint32_t room;                                                                             \
    }

/* Internal: makes space for another element, and returns the new capacity. */
size_t vec_grow(void **data, size_t len, size_t size, size_t most);

#define vec_push(v, x)                                                                             \
    ({                                                                                             \
        if ((v)->len == (v)->room)                                                                 \
            (v)->room = (typeof((v)->room))vec_grow((void **)&(v)->data, (v)->len,                 \
                                                    sizeof(*(v)->data), (typeof((v)->room))-1);    \
        (v)->data[(v)->len++] = (x);                                                               \
        (void)0;                                                                                   \
    })
/* Reserves space for a total of count elements: pushes up to that number move nothing. */
#define vec_reserve(v, count)                                                                      \
    ({                                                                                             \
        size_t count_ = (count);                                                                   \
        if (count_ > (v)->room) {                                                                  \
            (v)->data = mem_realloc((v)->data, count_ * sizeof(*(v)->data));                       \
            (v)->room = (typeof((v)->room))count_;                                                 \
        }                                                                                          \
    })
/* Frees memory if the capacity is four times the number of elements. Capacity for twice as many
 * stays, and for at least VEC_KEPT. */
#define VEC_KEPT 1024
#define vec_trim(v)                                                                                \
    ({                                                                                             \
        if ((v)->room > VEC_KEPT && (v)->len < (v)->room / 4) {                                    \
            (v)->room = (v)->len * 2 > VEC_KEPT ? (v)->len * 2 : VEC_KEPT;                         \
            (v)->data = mem_realloc((v)->data, (v)->room * sizeof(*(v)->data));                    \
        }                                                                                          \
    })
/* Exchanges two vectors with elements of the same type. */
#define vec_swap(a, b)                                                                             \
    ({                                                                                             \
        static_assert(sizeof(*(a)) == sizeof(*(b)) && sizeof(*(a)->data) == sizeof(*(b)->data),    \
                      "vectors of one type");                                                      \
        typeof(*(a)) was_ = *(a);                                                                  \
        memcpy((a), (b), sizeof(was_));                                                            \
        memcpy((b), &was_, sizeof(was_));                                                          \
    })
#define vec_pop(v) ((v)->data[--(v)->len])
#define vec_last(v) ((v)->data[(v)->len - 1])
#define vec_clear(v) ((void)((v)->len = 0))
#define vec_done(v)                                                                                \
    ({                                                                                             \
        free((v)->data);                                                                           \
        (v)->data = NULL;                                                                          \
        (v)->len = (v)->room = 0;                                                                  \
    })
/* Removes element i, keeping the order. */
#define vec_remove(v, i)                                                                           \
    ({                                                                                             \
        size_t at_ = (i);                                                                          \
        memmove(&(v)->data[at_], &(v)->data[at_ + 1], ((v)->len - at_ - 1) * sizeof(*(v)->data));  \
        (v)->len--;                                                                                \
    })
/* Removes the first n elements. */
#define vec_drop(v, n)                                                                             \
    ({                                                                                             \
        size_t n_ = (n);                                                                           \
        if (n_)                                                                                    \
            memmove((v)->data, (v)->data + n_, ((v)->len - n_) * sizeof(*(v)->data));              \
        (v)->len -= n_;                                                                            \
    })
/* Binary search in a sorted vector: returns the index of the first element for which 'before', an
 * expression of the element pointer p, is false; the length if there is none. */
#define vec_lower(v, p, before)                                                                    \
    ({                                                                                             \
        size_t low_ = 0, high_ = (v)->len;                                                         \
        while (low_ < high_) {                                                                     \
            size_t middle_ = (low_ + high_) / 2;                                                   \
            typeof((v)->data + 0) p = &(v)->data[middle_];                                         \
            if (before)                                                                            \
                low_ = middle_ + 1;                                                                \
            else                                                                                   \
                high_ = middle_;                                                                   \
        }                                                                                          \
        low_;                                                                                      \
    })
#define vec_foreach(v, p)                                                                          \
    for (typeof((v)->data + 0) p = (v)->data; p && p < (v)->data + (v)->len; p++)
