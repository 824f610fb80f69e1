/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "encode/encode.h"

gpc_status gpc_encode(const struct gpc_profile *p, const char *format, gpc_out_fn out, void *ctx)
{
	if (strcmp(format, "col") == 0)
		return gpc_encode_col(p, out, ctx);
	if (strcmp(format, "html") == 0)
		return gpc_encode_html(p, out, ctx);
	return GPC_E_CONFIG;
}

const struct gpc_profile_api *gpc_profile_api_get(void)
{
	static const struct gpc_profile_api api = {
		.struct_size = sizeof api,
		.info = gpc_profile_info,
		.frame = gpc_profile_frame,
		.event = gpc_profile_event,
		.next = gpc_profile_next,
		.encode = gpc_encode,
	};

	return &api;
}
