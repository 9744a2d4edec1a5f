/**
 * The keys of a login, in memory. What a decrypted message changes in them is written in the same transaction as the message:
 * WhatsApp does not repeat a message that was confirmed, and a message cannot be decrypted twice.
 */
import type { AuthenticationState, SignalDataTypeMap } from "@whiskeysockets/baileys";
import type { Statement } from "@svc/sdk/storage";
import type { Library } from "./library.ts";

const CREDS = "creds";

export interface Keys {
  readonly auth: AuthenticationState;
  /** Writes what has changed, and `more`, in one transaction. */
  save(more?: readonly Statement[]): Promise<void>;
  /** What `work` changes is not written before it calls `save`. */
  held<T>(work: () => Promise<T>): Promise<T>;
  /** Everything as JSON texts by name. */
  all(): ReadonlyMap<string, string>;
}

/** @param changed JSON texts by name; `undefined`: deleted */
export type Write = (changed: ReadonlyMap<string, string | undefined>, more: readonly Statement[]) => Promise<unknown>;

type Lib = Pick<Library, "BufferJSON" | "initAuthCreds" | "proto">;

/** @param stored JSON texts by name; without `creds`, a new device begins */
export function createKeys(
  { BufferJSON, initAuthCreds, proto }: Lib,
  stored: ReadonlyMap<string, string>,
  write: Write,
): Keys {
  const values = new Map(stored);
  let dirty = new Map<string, string | undefined>();
  let holding = 0;
  let last: Promise<unknown> = Promise.resolve();
  const written = (value: unknown) => JSON.stringify(value, BufferJSON.replacer);
  const read = (name: string): unknown => {
    const text = values.get(name);
    return text === undefined ? undefined : JSON.parse(text, BufferJSON.reviver);
  };
  const creds = (read(CREDS) as AuthenticationState["creds"] | undefined) ?? initAuthCreds(); // written below only

  function note(name: string, text: string | undefined): void {
    if (values.get(name) === text) return;
    dirty.set(name, text);
    if (text === undefined) values.delete(name);
    else values.set(name, text);
  }

  async function writeAll(more: readonly Statement[]): Promise<void> {
    note(CREDS, written(creds));
    const changed = dirty;
    dirty = new Map();
    if (changed.size === 0 && more.length === 0) return;
    try {
      await write(changed, more);
    } catch (error) {
      dirty = new Map([...changed, ...dirty]);
      throw error;
    }
  }

  function save(more: readonly Statement[] = []): Promise<void> {
    const saved = last.then(() => writeAll(more));
    last = saved.catch(() => undefined);
    return saved;
  }

  return {
    save,
    all() {
      note(CREDS, written(creds));
      return values;
    },
    async held(work) {
      holding += 1;
      try {
        return await work();
      } finally {
        holding -= 1;
        if (holding === 0 && dirty.size > 0) await save(); // of what was sent meanwhile
      }
    },
    auth: {
      creds,
      keys: {
        get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
          const found: Record<string, SignalDataTypeMap[T]> = {};
          for (const id of ids) {
            const value = read(`${type}:${id}`);
            if (value === undefined || value === null) continue;
            const isSyncKey = type === "app-state-sync-key";
            const revived = isSyncKey ? proto.Message.AppStateSyncKeyData.fromObject(value) : value;
            found[id] = revived as SignalDataTypeMap[T]; // written by `set` with the same type
          }
          return found;
        },
        async set(data) {
          for (const [type, byId] of Object.entries(data))
            for (const [id, value] of Object.entries(byId))
              note(`${type}:${id}`, value === null || value === undefined ? undefined : written(value));
          if (holding === 0) await save();
        },
      },
    },
  };
}
