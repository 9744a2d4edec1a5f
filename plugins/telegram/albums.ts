/** Albums: Telegram delivers each of their files as a message of its own. Pure. */
import type { Update } from "grammy/types";

/** The album that an update belongs to. */
export function albumOf(update: Update | undefined): string | undefined {
  const { chat, media_group_id: id } = update?.message ?? {};
  return chat === undefined || id === undefined ? undefined : `${chat.id}:${id}`;
}

/** The updates in the order of the first of each album; the updates of an album are together. */
export function joined(updates: readonly Update[]): readonly (readonly Update[])[] {
  const items: Update[][] = [];
  const albums = new Map<string, Update[]>();
  for (const update of updates) {
    const album = albumOf(update);
    const parts = album === undefined ? undefined : albums.get(album);
    if (parts) {
      parts.push(update);
      continue;
    }
    const item = [update];
    items.push(item);
    if (album !== undefined) albums.set(album, item);
  }
  return items;
}
