-- How much was seen, host by host: windows, calls that were counted and that they stand for, those that
-- have no name because a window had too many rows, and what was lost.
SELECT host,
       count(DISTINCT window_start) AS windows,
       sum(calls) AS counted_calls,
       CAST(floor(sum(calls * sample_scale) + 0.5) AS BIGINT) AS stand_for_calls,
       sum(CASE WHEN service IS NULL AND program IS NULL THEN calls ELSE 0 END) AS calls_without_name,
       sum(lost) AS lost,
       max(sample_scale) AS largest_scale
FROM needless_rows
GROUP BY host
ORDER BY lost DESC, calls_without_name DESC, counted_calls DESC, host;
