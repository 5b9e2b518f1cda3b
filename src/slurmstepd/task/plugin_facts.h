/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plugins may ask about the step: copies, since the start message is not kept. */
#pragma once

#include "slurmstepd/step/step.h"
#include "spank/stack.h"

struct plugin_facts {
    struct stack_facts facts;
    char *job_cores, *step_cores;
    char **argv;
};

void plugin_facts_make(const struct step *step, struct plugin_facts *f);
void plugin_facts_done(struct plugin_facts *f);
