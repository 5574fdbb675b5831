-- Day by day (UTC): how many hosts were observed, what they called, how much of it was needless.
SELECT CAST(window_start AS DATE) AS observed_day,
       count(DISTINCT host) AS hosts,
       CAST(floor(sum(calls * sample_scale) + 0.5) AS BIGINT) AS all_calls,
       CAST(floor(sum(needless * sample_scale) + 0.5) AS BIGINT) AS needless_calls,
       sum(saves_ns * sample_scale) / 1e9 AS saves_seconds,
       sum(cpu_ns * sample_scale) / 1e9 AS cpu_seconds
FROM needless_rows
GROUP BY CAST(window_start AS DATE)
ORDER BY observed_day;
