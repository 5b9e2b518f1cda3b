/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of gang scheduling. */
#pragma once

struct conf;
struct conf_loader;
struct err;

/* Called after the check of preemption: sets conf.gang and conf.gang_counts. */
int conf_gang_check(struct conf_loader *l, struct err *err);
/* Returns the reason why a job set with several components does not share its nodes; NULL: it
   does. */
const char *conf_gang_set_refusal(const struct conf *c);
/* Returns the reason why a running job set does not share: it did not share when it started. */
const char *conf_gang_set_unshared(void);
