/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Typed growable arrays:   VEC(struct job *) jobs = {0};   vec_push(&jobs, j);   vec_foreach(&jobs,
 * p) use(*p); Elements move when it grows: never keep a pointer to one across a push. VEC32 is the
 * same with smaller lengths, for structs of which there are very many.
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

/* Internal: makes room for one more element, and returns for how many there is room then. */
size_t vec_grow(void **data, size_t len, size_t size, size_t most);

#define vec_push(v, x)                                                                             \
    ({                                                                                             \
        if ((v)->len == (v)->room)                                                                 \
            (v)->room = (typeof((v)->room))vec_grow((void **)&(v)->data, (v)->len,                 \
                                                    sizeof(*(v)->data), (typeof((v)->room))-1);    \
        (v)->data[(v)->len++] = (x);                                                               \
        (void)0;                                                                                   \
    })
/* Room for so many in all: further pushes up to there move nothing. */
#define vec_reserve(v, count)                                                                      \
    ({                                                                                             \
        size_t count_ = (count);                                                                   \
        if (count_ > (v)->room) {                                                                  \
            (v)->data = mem_realloc((v)->data, count_ * sizeof(*(v)->data));                       \
            (v)->room = (typeof((v)->room))count_;                                                 \
        }                                                                                          \
    })
/* Gives memory back when there is room for four times as many elements as there are. Room for
 * twice as many stays, and for VEC_KEPT at least. */
#define VEC_KEPT 1024
#define vec_trim(v)                                                                                \
    ({                                                                                             \
        if ((v)->room > VEC_KEPT && (v)->len < (v)->room / 4) {                                    \
            (v)->room = (v)->len * 2 > VEC_KEPT ? (v)->len * 2 : VEC_KEPT;                         \
            (v)->data = mem_realloc((v)->data, (v)->room * sizeof(*(v)->data));                    \
        }                                                                                          \
    })
/* Exchanges two vectors of elements of one type. */
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
/* The place of the first element of a sorted one that is not 'before' something, an expression of
 * the pointer p to an element; its length: all are. */
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
