/* Compiled into each program of `make asan`. Here, for a program may empty its environment. */

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	/* The programs leave to the system what they hold at their end. */
	return "detect_leaks=0";
}
