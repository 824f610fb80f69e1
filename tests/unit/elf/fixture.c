/* SPDX-License-Identifier: Apache-2.0 */
/* The code whose symbols the tests look for. It is linked in many ways, and
 * never runs. Functions of a known layout are written in directives that any
 * assembler takes. */
int exported_data = 42;

static int __attribute__((noinline, used)) local_function(int x)
{
	return x * 3 + exported_data;
}

int exported_function(int x)
{
	return local_function(x) + 1;
}

int weak_name(int x) __attribute__((weak, alias("exported_function")));

static int resolved(void)
{
	return 7;
}

static void *resolve(void)
{
	return (void *)resolved;
}

int indirect(void) __attribute__((ifunc("resolve")));

void _start(void)
{
	exported_function(indirect());
}

#ifdef CALLS
int external_one(int x);
int external_two(int x);

int calls(int x)
{
	return external_two(x) + indirect() + external_one(x) + exported_function(x);
}
#endif

#ifdef VERSIONED
int versioned_old(void)
{
	return 1;
}
int versioned_new(void)
{
	return 2;
}
__asm__(".symver versioned_old, versioned@OLD");
__asm__(".symver versioned_new, versioned@@NEW");
#endif

__asm__("	.text\n"
	"	.balign 64\n"
	/* One address, many names: alias_ab is global, shortest, first. */
	"	.type w,%function; .weak w; .size w,64\n"
	"	.type l,%function; .size l,64\n"
	"	.type alias_bb,%function; .globl alias_bb; .size alias_bb,64\n"
	"	.type alias_ab,%function; .globl alias_ab; .size alias_ab,64\n"
	"	.type alias_long,%function; .globl alias_long; .size alias_long,64\n"
	"	.globl x\n"
	"l:\nw:\nalias_long:\nalias_bb:\nalias_ab:\nx:\n"
	"	.skip 64\n"
	/* No size: up to the next symbol, which has no type. */
	"	.type unsized,%function; .globl unsized\n"
	"unsized:\n"
	"	.skip 64\n"
	"	.globl label\n"
	"label:\n"
	"	.skip 64\n"
	/* A function within a function, and a label that does not count. */
	"	.type outer,%function; .globl outer; .size outer,128\n"
	"	.type inner,%function; .globl inner; .size inner,32\n"
	"outer:\n"
	"	.skip 32\n"
	"inner:\n"
	"	.skip 32\n"
	"hidden_label:\n"
	"	.skip 64\n"
	/* Covered by nothing: up to here the functions have sizes. */
	"	.skip 64\n"
	"	.type last,%function; .globl last; .size last,16\n"
	"last:\n"
	"	.skip 64\n"
	/* The first function of a section of its own, without a size: it ends with
	 * the section. */
	"	.section .fini_like,\"ax\",%progbits\n"
	"	.type own_section,%function; .globl own_section\n"
	"own_section:\n"
	"	.skip 32\n"
	"	.text\n");
