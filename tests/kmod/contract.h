/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CONTRACT_H
#define CONTRACT_H

/* Hold the module to its header, on whatever machine this is. Returns the number of failures. */
int contract_run(void);

#endif /* CONTRACT_H */
