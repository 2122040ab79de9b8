#!/bin/sh
# Form a Redis Cluster of six running servers, three masters with a replica each, and tell the site's URL.
#
#   deploy/redis/create-cluster.sh 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379 10.0.0.4:6379 10.0.0.5:6379 10.0.0.6:6379
#
# Each server runs redis.conf with cluster.conf included, and its port + 10000 is open to the others.
# Users are per server: the same users.acl goes to each. The cluster is formed by its user admin, whose password is in
# REDISCLI_AUTH: ADMIN_USER=admin REDISCLI_AUTH=... deploy/redis/create-cluster.sh ...
set -eu
if [ $# -lt 3 ]; then
  sed -n '2,8p' "$0" >&2
  exit 2
fi
replicas=$(( $# >= 6 ? 1 : 0 ))
[ -z "${ADMIN_USER:-}" ] || set -- "$@" --user "$ADMIN_USER"
redis-cli --cluster create "$@" --cluster-replicas "$replicas" --cluster-yes
nodes=
for node in "$@"; do
  case $node in --*) break ;; *:*) nodes="${nodes:+$nodes,}$node" ;; esac
done
echo # redis-cli ends without a line's end
echo "REDIS_URL=redis+cluster://$nodes"
