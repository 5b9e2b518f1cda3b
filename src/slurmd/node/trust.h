/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a daemon of root may do what a configuration says. */
#pragma once

#include "conf/conf.h"

/* Refuses one that others can change, or that names programs that others can change. Programs that
 * are not there are no matter yet: they are looked at again when they run. */
int trust_conf(const struct conf *c, struct err *err);
