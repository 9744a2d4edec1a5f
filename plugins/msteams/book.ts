/** What an account remembers of verified activities, in a file: where its conversations are, and addresses of files. */
import { openStateFile } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";

const MAX_PLACES = 5_000;
/** Addresses of files are valid for some minutes only. */
const MAX_FILES = 100;

const Place = Type.Object({
  /** Id of the conversation. */
  id: Type.String(),
  /** Address that a verified activity proved. */
  serviceUrl: Type.String(),
  isDirect: Type.Boolean(),
});
export type Place = Readonly<Static<typeof Place>>;

const StoredFile = Type.Object({
  /** May contain a token of its own. */
  url: Type.String(),
  /** An address of Teams that needs the bot token. */
  needsToken: Type.Boolean(),
});
export type StoredFile = Readonly<Static<typeof StoredFile>>;

const Stored = Type.Object({
  places: Type.Record(Type.String(), Place),
  files: Type.Record(Type.String(), StoredFile),
});

export interface Book {
  /** @param to conversation id, or `user:<id>` of a person */
  place(to: string): Place | undefined;
  file(ref: string): StoredFile | undefined;
  /** Resolves when it is on disk. @param addresses of the place. @throws Error of the file system */
  note(addresses: readonly string[], place: Place, files: ReadonlyMap<string, StoredFile>): Promise<void>;
  /** The bot left the conversation. @throws as `note` */
  forget(id: string): Promise<void>;
}

export async function openBook(path: string): Promise<Book> {
  const file = await openStateFile(path, Stored);
  const places = new Map<string, Place>(Object.entries(file.value?.places ?? {}));
  const files = new Map<string, StoredFile>(Object.entries(file.value?.files ?? {}));
  const keep = <T>(entries: Map<string, T>, key: string, value: T, max: number) => {
    entries.set(key, value);
    const [oldest] = entries.keys();
    if (entries.size > max && oldest !== undefined) entries.delete(oldest);
  };
  const save = () => file.write({ places: Object.fromEntries(places), files: Object.fromEntries(files) });
  return {
    place: (to) => places.get(to),
    file: (ref) => files.get(ref),
    async note(addresses, place, further) {
      for (const address of addresses) keep(places, address, place, MAX_PLACES);
      for (const [ref, one] of further) keep(files, ref, one, MAX_FILES);
      await save();
    },
    async forget(id) {
      for (const [address, place] of places) if (place.id === id) places.delete(address);
      await save();
    },
  };
}
