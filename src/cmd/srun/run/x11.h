/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X11 forwarding, srun's side: windows of the tasks appear on the display that $DISPLAY
 * names here. Nodes get a cookie made for this step; a client with that cookie is connected with
 * the display's own cookie, which never leaves this host.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

struct run;
struct x11;

/* 'where' is the value of --x11: all, first, last; "batch" is rejected. */
int x11_open(struct run *run, const char *where, struct x11 **out, struct err *err);
void x11_free(struct x11 *x);

Pb__X11 *x11_request(struct x11 *x); /* for the launch; lives as long as x. NULL for x NULL */

void x11_message(struct x11 *x, uint32_t node, const Pb__TunnelData *m); /* x NULL: ignored */
void x11_node_gone(struct x11 *x, uint32_t node);
