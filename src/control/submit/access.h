/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rights of users to use a partition, and to submit for another user. */
#pragma once

#include "control/internal.h"

struct part_list { /* used as a VEC */
    struct part **data;
    size_t len, room;
};
/* As the account of a request: any account, so that the accounts of partitions are not checked. */
extern const char access_any_account[];

/* Returns the requested or the default partition if the caller may use it for himself or for 'as'
 * (NULL: for himself). */
int access_find_part(struct control *c, const struct caller *who, const struct caller *as,
                     const Pb__JobSpec *spec, struct part **out, struct err *err);
/* Like access_find_part(), for a list. Partitions that do not accept the job are removed from
 * spec->partition, with a message to the user in c->said; if none accepts it, the error says why.
 * 'keys': a partition with a key accepts the job only with the key (CORE-080). The caller frees
 * out->data. */
int access_find_parts(struct control *c, const struct caller *who, const struct caller *as,
                      Pb__JobSpec *spec, bool keys, struct part_list *out, struct arena *arena,
                      struct err *err);
/* A partition with ReqResv=YES accepts only jobs that name a reservation; NULL, "": none. */
int access_check_resv(const struct part *p, const char *reservation, struct err *err);
/* Whether listings without --all show the partition to the caller: it is not hidden, and
 * AllowGroups admits one of the caller's groups. Operators see all partitions. */
bool access_shows_part(struct control *c, const struct caller *who, const struct part *p);
/* The same for a job: one of its partitions is shown, or the job is the caller's own. */
bool access_shows_job(struct control *c, const struct caller *who, const struct job *j);
/* Returns the owner of the new job: the caller, or the user that an administrator names. */
int access_identity(struct control *c, const struct caller *who, const Pb__JobSpec *spec,
                    struct caller *as, struct err *err);
