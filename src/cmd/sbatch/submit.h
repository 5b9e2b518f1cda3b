/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends the request of sbatch, prints the reply, and with --wait waits for the end of the job. */
#pragma once

#include "cmd/sbatch/request.h"

int submit_script(struct setup *s); /* returns the exit status */
