# SPDX-License-Identifier: MIT
#
# Never ends: a job that runs into its timeout while its engine is busy.

.program spin
.engine sync
again:  branch again
