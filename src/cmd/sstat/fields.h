/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of sstat: which there are, and a step as a line of them. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/step.pb-c.h"
#include "proto/usage.pb-c.h"

#define FIELDS_DEFAULT                                                                             \
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,"   \
    "MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,"      \
    "AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,"             \
    "MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,"  \
    "AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,"            \
    "TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"         \
    "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,"                     \
    "TRESUsageOutMinNode,TRESUsageOutMinTask,TRESUsageOutTot"
#define FIELDS_PIDS "JobID,Nodelist,Pids"
#define FIELDS_WIDTH_MAX 4096

struct fields_view {
    const Pb__StepRecord *step;
    const Pb__Usage *usage;
    const char *nodes, *pids;
    const char *first_node; /* of what has none of its own */
    bool no_convert;
};

struct field;
struct fields_column {
    const struct field *field;
    int width; /* negative: left justified */
};
struct fields {
    VEC(struct fields_column) columns;
    bool divided, closed; /* by '|', and with one at the end */
};

/* Adds a comma list; -ERR_PARSE names the unknown one. */
int fields_add(struct fields *f, const char *list, struct err *err);
void fields_done(struct fields *f);

void fields_print_header(const struct fields *f, struct str *out);
void fields_print(const struct fields *f, const struct fields_view *v, struct str *out);
void fields_print_names(struct str *out); /* --helpformat */
