/** Offers, on the page after the composer, to take back what was published: it becomes a draft. */

/** The tools are those of the page. */
export function offerUndo({ send, toast, word }) {
  const [{ id, thread = [id], message }, fields] = JSON.parse(sessionStorage.published);
  sessionStorage.removeItem("published");
  const undo = async () => {
    const draft = await send("/drafts/", fields);
    let answer = draft;
    for (const each of thread.toReversed()) if (answer.ok) answer = await send(`/posts/${each}/delete/`, { keep_pictures: "on" });
    if (answer.ok) location.assign(`/drafts/${draft.data.id}/`);
    else toast(answer.data.message || word("notDone"));
  };
  toast(message ?? word("published"), { undo });
}
