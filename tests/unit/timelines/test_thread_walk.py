"""The joined pages of a thread, of any size, are the pre-order of the whole reply tree."""

import random
from collections.abc import Mapping, Sequence

import pytest

from socialsite.ids import PostId
from timelines.threads.thread import MAX_DEPTH, ReplyNode, ThreadWalk

ROOT = PostId(1)
Tree = Mapping[PostId, list[PostId]]


def grown(seed: int, size: int, shape: float) -> dict[PostId, list[PostId]]:
    """Return a random tree; `shape` near 0 gives a wide tree, near 1 a deep tree."""
    chance = random.Random(seed)
    ids, children = [ROOT], dict[PostId, list[PostId]]()
    for number in range(2, size + 2):
        recent = ids[-3:] if chance.random() < shape else ids
        children.setdefault(chance.choice(recent), []).append(PostId(number))
        ids.append(PostId(number))
    return children


def preorder(tree: Tree, root: PostId = ROOT, depth: int = 1) -> list[ReplyNode]:
    nodes: list[ReplyNode] = []
    for child in tree.get(root, ()):
        nodes.append(ReplyNode(child, depth))
        if depth < MAX_DEPTH:
            nodes += preorder(tree, child, depth + 1)
    return nodes


def path_to(tree: Tree, last: PostId) -> list[PostId]:
    parent = {child: above for above, ids in tree.items() for child in ids}
    path = [last]
    while path[-1] != ROOT:
        path.append(parent[path[-1]])
    return path[::-1]


def page(tree: Tree, path: Sequence[PostId], wanted: int) -> tuple[list[ReplyNode], int]:
    walk, looks = ThreadWalk(path), 0
    while ranges := walk.unread_ranges(wanted):
        looks += 1
        walk.insert_children(
            ranges, [[id for id in tree.get(r.parent, ()) if id > r.after_id][: r.limit] for r in ranges]
        )
    return walk.take_nodes(wanted), looks


@pytest.mark.parametrize("seed", range(40))
def test_the_joined_pages_are_the_pre_order_of_the_tree(seed: int) -> None:
    tree = grown(seed, size=120, shape=seed / 40)
    read: list[ReplyNode] = []
    path, wanted = [ROOT], 1 + seed % 7
    while nodes := page(tree, path, wanted)[0]:
        read += nodes
        path = path_to(tree, nodes[-1].id)
    assert read == preorder(tree)


def test_a_page_of_a_wide_thread_takes_two_reads_and_a_deep_thread_one_read_a_level() -> None:
    wide = {ROOT: [PostId(number) for number in range(2, 10_002)]}
    assert page(wide, [ROOT], 31)[1] == 2
    deep = {PostId(number): [PostId(number + 1)] for number in range(1, 400)}
    assert page(deep, [ROOT], 31)[1] == 31


def test_the_walk_ends_at_the_deepest_level() -> None:
    deep = {PostId(number): [PostId(number + 1)] for number in range(1, MAX_DEPTH + 50)}
    assert page(deep, [ROOT], MAX_DEPTH + 40)[0][-1] == ReplyNode(PostId(MAX_DEPTH + 1), MAX_DEPTH)


def test_the_walk_of_a_cyclic_thread_ends() -> None:
    circle = {ROOT: [PostId(2)], PostId(2): [ROOT]}
    assert len(page(circle, [ROOT], MAX_DEPTH + 40)[0]) == MAX_DEPTH
