/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether no element of an array is lost, or there twice, and its counts are right. */
#include "cluster/cluster.h"
#include "cluster/job/array.h"

static uint32_t known(const struct array *a)
{
    uint32_t n = a->gone_well + a->gone_badly;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        n += array_weight(j);
    return n;
}

void array_note_missing(struct cluster *c)
{
    vec_foreach (&c->arrays, at) {
        uint32_t n = known(*at);
        (*at)->missing = n < (*at)->all.count ? (*at)->all.count - n : 0;
    }
}

static int check_counts(const struct array *a, struct err *err)
{
    struct array sums = {.ended_well = a->gone_well, .ended_badly = a->gone_badly};
    for (const struct job *j = array_first(a); j; j = array_after(j))
        array_count(&sums, j, 1);
    if (sums.pending != a->pending || sums.running != a->running ||
        sums.ended_well != a->ended_well || sums.ended_badly != a->ended_badly)
        return err_set(err, -ERR_INTERNAL, "array %u: its counts are wrong", a->id);
    if (known(a) + a->missing != a->all.count)
        return err_set(err, -ERR_INTERNAL, "array %u: it has %u elements and knows %u", a->id,
                       a->all.count, known(a));
    return 0;
}

/* Every element of every record is its own, and found there. */
static int check_records(const struct cluster *c, const struct array *a, struct err *err)
{
    struct idset seen = {0};
    int rc = 0;
    for (const struct job *j = array_first(a); rc == 0 && j; j = array_after(j)) {
        struct idset mine = {0}, twice = {0};
        idset_copy(&mine, &j->tasks);
        if (!j->tasks.count)
            idset_add(&mine, j->task);
        uint32_t first = idset_first(&mine);
        if (j->array != a || j->tasks.count == 1 || array_element(c, a, first) != j)
            rc = err_set(err, -ERR_INTERNAL, "job %u: its element %u of array %u is not found",
                         j->id, first, a->id);
        idset_split(&mine, &seen, &twice);
        if (twice.count)
            rc = err_set(err, -ERR_INTERNAL, "array %u: element %u has two records", a->id,
                         idset_first(&twice));
        idset_unite(&seen, &mine);
        idset_done(&mine);
        idset_done(&twice);
    }
    idset_done(&seen);
    return rc;
}

int array_check(const struct cluster *c, struct err *err)
{
    size_t folded = 0;
    int rc = 0;
    vec_foreach (&c->arrays, at) {
        rc = rc ? rc : check_counts(*at, err);
        rc = rc ? rc : check_records(c, *at, err);
        for (const struct job *j = array_first(*at); j; j = array_after(j))
            folded += array_to_come(j);
    }
    if (rc == 0 && folded != c->folded)
        rc = err_set(err, -ERR_INTERNAL, "the count of elements in groups is wrong");
    return rc;
}
