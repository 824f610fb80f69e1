/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/encode.h"

gpc_status gpc_encode_html(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	(void)p;
	(void)out;
	(void)ctx;
	return GPC_E_UNSUPPORTED;
}
