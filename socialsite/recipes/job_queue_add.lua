#!lua flags=allow-oom
-- Purpose: owe a job that frees more than it takes. allow-oom: on a full server, that is what helps.
-- KEYS: the stream.
-- ARGV: the job.
-- Returns: its id.
return redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1])
