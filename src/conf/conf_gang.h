/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of gang scheduling. */
#pragma once

struct conf;
struct conf_loader;
struct err;

/* Called after the check of preemption: sets conf.gang and conf.gang_counts. */
int conf_gang_check(struct conf_loader *l, struct err *err);
