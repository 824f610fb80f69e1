/* SPDX-License-Identifier: Apache-2.0 */
/* Single values by name, for those who have no struct to fill. */
#include <string.h>

#include "config/option_impl.h"

const char *gpc_options_text(const struct gpc_options *o, const char *name)
{
	const struct option_row *row = gpc_option_find(o, name, strlen(name));
	const struct option_given *given;

	if (!row)
		return NULL;
	given = gpc_option_winner(o, row->slot);
	return given ? gpc_option_text(o, given) : gpc_option_fallback(o, row);
}

int64_t gpc_options_number(const struct gpc_options *o, const char *name)
{
	const struct option_row *row = gpc_option_find(o, name, strlen(name));
	const char *text = gpc_options_text(o, name);
	int64_t value = 0;

	if (!row || !text || gpc_option_number(&row->opt, text, &value, NULL) < 0)
		return 0;
	return value;
}
