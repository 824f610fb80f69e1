/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"

static void demangles(void **state)
{
	static const char *const names[][2] = {
		{"_ZN3fooplERKS_", "foo::operator+(foo const&)"},
		{"_ZplI3BarEiT_S1_", "int operator+<Bar>(Bar, Bar)"},
		{"_ZN3FooclEv", "Foo::operator()()"},
		{"_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)"},
		{"_ZN3FooltERKS_", "Foo::operator<(Foo const&)"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
		{"_ZN3foo3barEv@plt", "foo::bar()@plt"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_ZN34_$LT$u8$u20$as$u20$core..Clone$GT$5clone17h0123456789abcdefE",
		 "<u8 as core::Clone>::clone"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvNtCs1234_7mycrate3foo3bar.llvm.1234", "mycrate::foo::bar"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
		{"_D8demangle4testFaZv", "demangle.test(char)"},
		{"_Dmain", "D main"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		autofree char *text = gpc_demangle(names[i][0]);

		assert_string_equal(text, names[i][1]);
	}
}

static void leaves_other_names(void **state)
{
	static const char *const names[] = {"",
					    "main",
					    "_",
					    "_Z",
					    "_R",
					    "Z3fo",
					    "_Zfoo",
					    "_ZN3fo",
					    "__x",
					    "@",
					    "_Z@GLIBC_",
					    "_RINvNtC0std3mem8iahgTTTTTTTTTTTTTTTstd3mem8iah",
					    "_ZN9999999999fooEv"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(gpc_demangle(names[i]));
}

static void refuses_long_names(void **state)
{
	size_t n = 9000;
	autofree char *name = malloc(n + 1);

	(void)state;
	memcpy(name, "_ZN", 3);
	for (size_t i = 3; i + 2 <= n - 2; i += 2)
		memcpy(name + i, "1a", 2);
	memcpy(name + n - 3, "Ev", 3);
	assert_null(gpc_demangle(name));
}

/* Short names whose parts repeat all that came before them twice: the text of
 * the first would be 3.7 GB long. */
static void bounds_explosions(void **state)
{
	static const char *const names[] = {
		"_Z1fISt4pairIiiES0_IS1_S1_ES0_IS2_S2_ES0_IS3_S3_ES0_IS4_S4_ES0_IS5_S5_"
		"ES0_IS6_S6_ES0_IS7_S7_ES0_IS8_S8_ES0_IS9_S9_ES0_ISA_SA_ES0_ISB_SB_ES0_"
		"ISC_SC_ES0_ISD_SD_ES0_ISE_SE_ES0_ISF_SF_ES0_ISG_SG_ES0_ISH_SH_ES0_ISI_"
		"SI_ES0_ISJ_SJ_ES0_ISK_SK_ES0_ISL_SL_ES0_ISM_SM_ES0_ISN_SN_ES0_ISO_SO_E"
		"S0_ISP_SP_EEvv",
		"_RINvC1a1fTjjETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_E"
		"TBX_BX_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB"
		"21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB"
		"39_B39_ETB3j_B3j_ETB3t_B3t_ETB3D_B3D_ETB3N_B3N_ETB3X_B3X_ETB47_B47_ETB"
		"4h_B4h_ETB4r_B4r_EE",
	};
	uint64_t begin = gpc_now_ns();

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(gpc_demangle(names[i]));
	assert_true(gpc_now_ns() - begin < 2 * GPC_SECOND_NS);
}

/* libiberty by itself gives up on names of more than 1 KiB. */
static void demangles_long_names(void **state)
{
	autofree char *name = NULL;
	autofree char *text = NULL;
	char expected[4096] = "f(";
	size_t n;

	(void)state;
	name = calloc(1, 4096);
	strcpy(name, "_Z1f");
	for (int i = 0; i < 300; i++) {
		sprintf(name + strlen(name), "5Abc%02d", i % 100);
		if (i < 100)
			sprintf(expected + strlen(expected), "Abc%02d, ", i);
	}
	assert_true(strlen(name) > 1500);
	text = gpc_demangle(name);
	assert_non_null(text);
	n = strlen(expected);
	assert_int_equal(strncmp(text, expected, n), 0);
	assert_int_equal(strlen(text), 2 + 300 * 5 + 299 * 2 + 1);
}

/* Each pointer is one more level, as deep as a name can be. */
static void deepest_name_fits_the_stack(void **state)
{
	static const char *const levels[] = {"P",     "FvP",  "3fooIP", "XadL_Z1fP",
					     "DTcvP", "XcvP", "Xngng",  "Dv4_P"};
	autofree char *name = malloc(4097);

	(void)state;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		size_t n = strlen(levels[i]), at = 4;
		uint64_t begin = gpc_now_ns();

		strcpy(name, "_Z1f");
		for (; at + n < 4095; at += n)
			memcpy(name + at, levels[i], n);
		strcpy(name + at, "i");
		free(gpc_demangle(name));
		assert_true(gpc_now_ns() - begin < 5 * GPC_SECOND_NS);
	}
}

/* Each Q repeats all before it. */
static void bounds_names_of_d(void **state)
{
	char name[400] = "_D1a1bFS1c1d";
	uint64_t begin = gpc_now_ns();

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(name, "HQbQc");
	assert_null(gpc_demangle(name));
	assert_null(gpc_demangle("_DYNAMIC"));
	assert_true(gpc_now_ns() - begin < GPC_SECOND_NS);
}

static void bounds_recursion(void **state)
{
	char name[8000];
	autofree char *text = NULL;

	(void)state;
	memset(name, 'P', sizeof name);
	memcpy(name, "_Z1f", 4);
	strcpy(name + sizeof name - 2, "i");
	text = gpc_demangle(name);
	free(take(text));
	memset(name, 'R', sizeof name);
	memcpy(name, "_RIC1a", 6);
	strcpy(name + sizeof name - 3, "iE");
	text = gpc_demangle(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangles),
		cmocka_unit_test(leaves_other_names),
		cmocka_unit_test(refuses_long_names),
		cmocka_unit_test(bounds_explosions),
		cmocka_unit_test(bounds_recursion),
		cmocka_unit_test(demangles_long_names),
		cmocka_unit_test(deepest_name_fits_the_stack),
		cmocka_unit_test(bounds_names_of_d),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
