/* SPDX-License-Identifier: Apache-2.0 */
/* Split.down: native code that calls back into Java. */
#include <jni.h>

__attribute__((noinline)) jlong split_back(JNIEnv *env, jclass c, jint depth)
{
	static jmethodID up;

	if (!up)
		up = (*env)->GetStaticMethodID(env, c, "up", "(I)J");
	return (*env)->CallStaticLongMethod(env, c, up, depth);
}

JNIEXPORT jlong JNICALL Java_Split_down(JNIEnv *env, jclass c, jint depth)
{
	volatile jlong sum = split_back(env, c, depth);

	return sum + 1;
}
