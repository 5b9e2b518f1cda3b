/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may use a partition, and who may submit for whom. */
#pragma once

#include "control/internal.h"

struct part_list { /* used as a VEC */
    struct part **data;
    size_t len, room;
};
/* The partition asked for, or the default one, when the caller may use it, for himself or as 'as'
 * (NULL: himself). */
int access_find_part(struct control *c, const struct caller *who, const struct caller *as,
                     const Pb__JobSpec *spec, struct part **out, struct err *err);
/* The same of each one of a list: those that do not take the job are left out of spec->partition,
 * with a word to the user in c->said; when none does, that is why. 'keys': a partition with a key
 * takes the job only with it (CORE-080). The caller frees out->data. */
int access_find_parts(struct control *c, const struct caller *who, const struct caller *as,
                      Pb__JobSpec *spec, bool keys, struct part_list *out, struct arena *arena,
                      struct err *err);
/* A partition with ReqResv=YES takes jobs that name a reservation; NULL, "": it names none. */
int access_check_resv(const struct part *p, const char *reservation, struct err *err);
/* Whose job it will be: the caller's, or that of the user an administrator names. */
int access_identity(struct control *c, const struct caller *who, const Pb__JobSpec *spec,
                    struct caller *as, struct err *err);
