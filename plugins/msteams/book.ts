/** What an account remembers of verified activities, in a file: where its conversations are, and addresses of files. */
import { isDeepStrictEqual } from "node:util";
import { openStateFile } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";

const MAX_PLACES = 5_000;
/** Addresses of files are valid for some minutes only. */
const MAX_FILES = 100;

/** `serviceUrl` was proved by a verified activity; `id` is that of the conversation. */
const Place = Type.Object({ id: Type.String(), serviceUrl: Type.String(), isDirect: Type.Boolean() });
export type Place = Readonly<Static<typeof Place>>;
/** `url` may contain a token of its own; `needsToken`: it is an address of Teams that needs the bot token. */
const StoredFile = Type.Object({ url: Type.String(), needsToken: Type.Boolean() });
export type StoredFile = Readonly<Static<typeof StoredFile>>;
const Stored = Type.Object({
  places: Type.Record(Type.String(), Place),
  files: Type.Record(Type.String(), StoredFile),
});

export type Book = Awaited<ReturnType<typeof openBook>>;

export async function openBook(path: string) {
  const stored = await openStateFile(path, Stored);
  const places = new Map<string, Place>(Object.entries(stored.value?.places ?? {}));
  const files = new Map<string, StoredFile>(Object.entries(stored.value?.files ?? {}));
  const save = () => stored.write({ places: Object.fromEntries(places), files: Object.fromEntries(files) });
  return {
    /** @param to conversation id, or `user:<id>` of a person */
    place: (to: string) => places.get(to),
    file: (ref: string) => files.get(ref),
    /** Resolves when it is on disk. @param addresses of the place. @throws Error of the file system */
    async note(addresses: readonly string[], place: Place, further: ReadonlyMap<string, StoredFile>): Promise<void> {
      if (further.size === 0 && addresses.every((address) => isDeepStrictEqual(places.get(address), place))) return;
      for (const address of addresses) keep(places, address, place, MAX_PLACES);
      for (const [ref, file] of further) keep(files, ref, file, MAX_FILES);
      await save();
    },
    /** The bot left the conversation. @throws as `note` */
    async forget(id: string): Promise<void> {
      for (const [address, place] of places) if (place.id === id) places.delete(address);
      await save();
    },
  };
}

/** The oldest entry makes room. */
function keep<T>(entries: Map<string, T>, key: string, value: T, max: number): void {
  entries.set(key, value);
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}
