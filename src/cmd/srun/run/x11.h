/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X11 forwarding, srun's side: windows of the tasks on the display that $DISPLAY names here.
 * Nodes are given a cookie made for this step; whoever shows it is let in with the display's own,
 * which never leaves this host.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

struct run;
struct x11;

/* 'where' is the value of --x11: all, first, last; "batch" is refused. */
int x11_open(struct run *run, const char *where, struct x11 **out, struct err *err);
void x11_free(struct x11 *x);

Pb__X11 *x11_request(struct x11 *x); /* for the launch; lives as long as x. NULL for NULL */

void x11_message(struct x11 *x, uint32_t node, const Pb__TunnelData *m); /* x NULL: ignored */
void x11_node_gone(struct x11 *x, uint32_t node);
