/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ResumeAfter of nodes. */
#pragma once

struct control;

void update_node_resume_due(struct control *c);  /* when ResumeAfter of a node has expired */
void update_node_resume_look(struct control *c); /* nodes or their ResumeAfter times have changed */
