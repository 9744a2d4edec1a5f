/** What an account remembers of verified activities, in a file: where its conversations are, and addresses of files. */
import { isDeepStrictEqual } from "node:util";
import { openStateFile } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";

const MAX_PLACES = 5_000;
const MAX_FILES = 100; // their addresses are valid for some minutes only

/** `id` is that of the conversation. A verified activity proved `serviceUrl`. */
const Place = Type.Object({ id: Type.String(), serviceUrl: Type.String(), isDirect: Type.Boolean() });
export type Place = Readonly<Static<typeof Place>>;
/** `url` may contain a token of its own; `needsToken`: it is an address of Teams that needs the bot token. */
const StoredFile = Type.Object({ url: Type.String(), needsToken: Type.Boolean() });
export type StoredFile = Readonly<Static<typeof StoredFile>>;
const Places = Type.Record(Type.String(), Place);
const Stored = Type.Object({ places: Places, files: Type.Record(Type.String(), StoredFile) });

export type Book = Awaited<ReturnType<typeof openBook>>;

export async function openBook(path: string) {
  const stored = await openStateFile(path, Stored);
  const places = new Map<string, Place>(Object.entries(stored.value?.places ?? {}));
  const files = new Map<string, StoredFile>(Object.entries(stored.value?.files ?? {}));
  return {
    /** @param to conversation id, or `user:<id>` of a person */
    place: (to: string) => places.get(to),
    file: (ref: string) => files.get(ref),
    /** Resolves when it is on disk. @param addresses of the place. @throws Error of the file system */
    async note(addresses: readonly string[], place: Place, further: ReadonlyMap<string, StoredFile>): Promise<void> {
      if (further.size === 0 && addresses.every((address) => isDeepStrictEqual(places.get(address), place))) return;
      for (const address of addresses) places.set(address, place);
      for (const [ref, file] of further) files.set(ref, file);
      for (const oldest of places.keys()) if (places.size > MAX_PLACES) places.delete(oldest);
      for (const oldest of files.keys()) if (files.size > MAX_FILES) files.delete(oldest);
      await stored.write({ places: Object.fromEntries(places), files: Object.fromEntries(files) });
    },
  };
}
