#!lua flags=allow-oom
-- Purpose: add a job that frees memory when it runs. allow-oom: a full server must accept such a job.
-- KEYS: the stream.
-- ARGV: the payload.
-- Returns: the id of the job.
return redis.call('XADD', KEYS[1], '*', 'payload', ARGV[1])
