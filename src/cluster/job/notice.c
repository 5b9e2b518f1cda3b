/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/notice.h"

#include <stdlib.h>

#include "base/mem.h"

void notice_add(struct notice_board *b, uint64_t number, uint32_t step_id, const char *text)
{
    if (b->notices.len == NOTICES_MAX) {
        free(b->notices.data[0].text);
        vec_remove(&b->notices, 0);
    }
    vec_push(&b->notices, ((struct notice){number, step_id, mem_strdup(text)}));
}

const struct notice *notice_next(const struct notice_board *b, const struct notice_wait *w)
{
    vec_foreach (&b->notices, n)
        if (n->number > w->seen &&
            (n->step_id == NOTICE_OF_JOB ? w->of_job : n->step_id == w->step_id))
            return n;
    return NULL;
}

void notice_drop_wait(struct notice_board *b, uint64_t call)
{
    for (size_t i = b ? b->waits.len : 0; i-- > 0;)
        if (b->waits.data[i].call == call)
            vec_remove(&b->waits, i);
}

void notice_board_free(struct notice_board *b)
{
    if (!b)
        return;
    vec_foreach (&b->notices, n)
        free(n->text);
    vec_done(&b->notices);
    vec_done(&b->waits);
    free(b);
}
