/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A prolog or an epilog that an earlier daemon has begun. It is nobody's child here: whether it
 * lives is looked at again and again, and its status stays unknown. Its limit, and what is said of
 * one that takes long, are as if this daemon had begun it when it was begun.
 */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/node/script.h"

struct oldscript;

/* Into a->old_script; its number is in the note, or is looked for. 's' is copied, and is what it
 * would be run by now. done is told 0, or that it met its limit. */
void oldscript_watch(struct attempt *a, const struct script *s, bool is_epilog, script_fn *done);
void oldscript_free(struct oldscript *o); /* it runs on */
