/** What an account remembers between its runs. */
import { matches, type Static, type TSchema } from "../schema.ts";

/** State of an account, e.g. how far it has read. Plain data. */
export interface AccountState<T> {
  /** What was stored or written last. `undefined`: nothing, or it does not match the schema. */
  readonly value: T | undefined;
  /**
   * Replaces the state unless it is the same. Writes are done one after the other. Resolves when this value or a later one is on disk.
   * @throws GatewayError `UNAVAILABLE`; `CONFLICT`: another gateway has taken over the account
   */
  write(value: T): Promise<void>;
}

/** Where the state of one account is kept, as text. */
export interface StateRecord {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** Reads the state once. A damaged record counts as none: the account starts as a new one. @throws errors of `record.read` */
export async function openAccountState<S extends TSchema>(
  schema: S,
  record: StateRecord,
): Promise<AccountState<Static<S>>> {
  let saved = await record.read();
  let value = parsed(schema, saved);
  let writing = Promise.resolve();
  const save = async () => {
    const text = JSON.stringify(value);
    if (text === saved) return;
    await record.write(text);
    saved = text;
  };
  return {
    get value() {
      return value;
    },
    write(next) {
      value = next;
      writing = writing.catch(() => undefined).then(save);
      return writing;
    },
  };
}

function parsed<S extends TSchema>(schema: S, text = ""): Static<S> | undefined {
  try {
    const stored: unknown = JSON.parse(text);
    return matches(schema, stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}
