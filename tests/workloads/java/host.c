/* SPDX-License-Identifier: Apache-2.0 */
/* A program that carries a JVM: it opens libjvm.so itself and calls Split.pair for ever
 * from its own main thread. Usage: host LIBJVM CLASSPATH */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>

typedef jint (*create_fn)(JavaVM **vm, void **env, void *args);

__attribute__((noinline)) jlong host_round(JNIEnv *env, jclass c, jmethodID pair, jint round)
{
	volatile jlong sum = (*env)->CallStaticLongMethod(env, c, pair, round);

	return sum + 1;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	create_fn create = library ? (create_fn)dlsym(library, "JNI_CreateJavaVM") : NULL;
	char path[4096];
	JavaVMOption option = {.optionString = path};
	JavaVMInitArgs args = {.version = JNI_VERSION_1_8, .nOptions = 1, .options = &option};
	volatile jlong sum = 0;
	jmethodID pair;
	JavaVM *vm;
	JNIEnv *env;
	jclass c;

	if (!create)
		return 2;
	snprintf(path, sizeof path, "-Djava.class.path=%s", argv[2]);
	if (create(&vm, (void **)&env, &args) != JNI_OK)
		return 3;
	c = (*env)->FindClass(env, "Split");
	pair = c ? (*env)->GetStaticMethodID(env, c, "pair", "(I)J") : NULL;
	for (jint round = 1; pair; round++)
		sum += host_round(env, c, pair, round);
	return 4;
}
