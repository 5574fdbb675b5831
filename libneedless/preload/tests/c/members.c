/* Structures in which only those members are set that a call reads: the name of the zone is no address. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <time.h>
#include <wchar.h>
int main(void) {
    struct tm tm = {.tm_year = 124, .tm_mon = 5, .tm_mday = 1, .tm_hour = 12, .tm_wday = 6, .tm_yday = 152, .tm_zone = (char *)1};
    locale_t c = newlocale(LC_ALL_MASK, "C", 0);
    time_t t = 1717243445;
    for (int letter = ' '; letter < 127; letter++)
        for (int conversion = 0; conversion < 2; conversion++) {
            char format[] = {conversion ? '%' : 'x', letter, ' ', 'h', 'o', 'u', 'r', 's', 'Z', 0}, a[90] = "", b[90] = "";
            wchar_t wide[90] = L"", other[90] = L"", letters[10];
            if (conversion && (letter == 'Z' || letter == 'E' || letter == 'O' || letter == '#')) continue;
            if (conversion && letter == '^' || letter == '%') continue;
            for (int i = 0; i < 10; i++) letters[i] = format[i];
            localtime(&t);
            strftime(a, 90, format, &tm), strftime_l(b, 90, format, &tm, c);
            wcsftime(wide, 90, letters, &tm), wcsftime_l(other, 90, letters, &tm, c);
            printf("%s|%s|%ls|%ls\n", a, b, wide, other);
        }
    printf("%s%ld %s\n", asctime(&tm), (long)mktime(&tm), localtime_r(&t, &tm)->tm_zone);
    return 0;
}
