#!/bin/sh
# Form a Redis Cluster of six running servers, three masters with a replica each, and tell the site's URL.
#
#   deploy/redis/create-cluster.sh 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379 10.0.0.4:6379 10.0.0.5:6379 10.0.0.6:6379
#
# Each server runs redis.conf with cluster.conf included, and its port + 10000 is open to the others.
# Cluster users are per server: users.acl goes to each. A person who forms the cluster needs more rights than the
# site ever has: give ADMIN_USER and REDISCLI_AUTH of one made for the occasion (`ACL SETUSER admin on >... ~* &* +@all`).
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
