/** What verified activities proved: where conversations are, and addresses of files. All gateways on the state share it. */
import { isDeepStrictEqual } from "node:util";
import { withTables } from "@svc/kit/channels";
import type { Clock } from "@svc/sdk";
import type { Retention, Statement, Storage } from "@svc/sdk/storage";

const DAY_MS = 86_400_000;

/** Tables of this plugin. Append only. `bot`: the app id, because ids of people are those of one bot. */
const STEPS = [
  `CREATE TABLE msteams_places (
    account TEXT NOT NULL,
    bot TEXT NOT NULL,
    address TEXT NOT NULL,
    id TEXT NOT NULL,
    service_url TEXT NOT NULL,
    direct BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account, bot, address)
  )`,
  "CREATE INDEX msteams_places_at ON msteams_places (at)",
  `CREATE TABLE msteams_files (
    account TEXT NOT NULL,
    ref TEXT NOT NULL,
    url TEXT NOT NULL,
    needs_token BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account, ref)
  )`,
  "CREATE INDEX msteams_files_at ON msteams_files (at)",
];

/** Addresses of files are valid for some minutes only. */
export const RETENTION: Retention = {
  tables: ["msteams_places", "msteams_files"],
  holds: "conversations in which people of Microsoft Teams met the bot, and addresses of the files they sent",
  rule: "the newest 50,000 conversations; addresses of files for one day, the newest 10,000",
  rows: [
    { table: "msteams_places", key: ["account", "bot", "address"], at: "at", most: 50_000 },
    { table: "msteams_files", key: ["account", "ref"], at: "at", olderThanMs: DAY_MS, most: 10_000 },
  ],
};

/** `id` is that of the conversation. A verified activity proved `serviceUrl`. */
export interface Place {
  readonly id: string;
  readonly serviceUrl: string;
  readonly isDirect: boolean;
}

/** `url` may contain a token of its own; `needsToken`: it is an address of Teams that needs the bot token. */
export interface StoredFile {
  readonly url: string;
  readonly needsToken: boolean;
}

export type Store = ReturnType<typeof createStore>;

/** @param storage used on the first call, which creates the tables. Each function throws GatewayError `UNAVAILABLE` */
export function createStore(storage: Storage, clock: Pick<Clock, "now">) {
  const open = withTables(storage, "msteams", STEPS);

  /** @param to conversation id, or `user:<id>` of a person */
  async function place(account: string, bot: string, to: string): Promise<Place | undefined> {
    const sql = "SELECT id, service_url, direct FROM msteams_places WHERE account = ? AND bot = ? AND address = ?";
    const row = await (await open()).get<{ id: string; service_url: string; direct: number }>(sql, [account, bot, to]);
    return row && { id: row.id, serviceUrl: row.service_url, isDirect: row.direct === 1 };
  }

  function putPlace(account: string, bot: string, address: string, { id, serviceUrl, isDirect }: Place): Statement {
    return {
      sql: `INSERT INTO msteams_places (account, bot, address, id, service_url, direct, at) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (account, bot, address)
        DO UPDATE SET id = excluded.id, service_url = excluded.service_url, direct = excluded.direct, at = excluded.at`,
      params: [account, bot, address, id, serviceUrl, isDirect ? 1 : 0, clock.now()],
    };
  }

  function putFile(account: string, ref: string, { url, needsToken }: StoredFile): Statement {
    return {
      sql: `INSERT INTO msteams_files (account, ref, url, needs_token, at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (account, ref) DO UPDATE SET url = excluded.url, needs_token = excluded.needs_token, at = excluded.at`,
      params: [account, ref, url, needsToken ? 1 : 0, clock.now()],
    };
  }

  return {
    place,
    async file(account: string, ref: string): Promise<StoredFile | undefined> {
      const sql = "SELECT url, needs_token FROM msteams_files WHERE account = ? AND ref = ?";
      const row = await (await open()).get<{ url: string; needs_token: number }>(sql, [account, ref]);
      return row && { url: row.url, needsToken: row.needs_token === 1 };
    },
    /** Resolves when it is on disk. @param addresses of the place */
    async note(
      account: string,
      bot: string,
      addresses: readonly string[],
      found: Place,
      files: ReadonlyMap<string, StoredFile>,
    ): Promise<void> {
      const known = await Promise.all(addresses.map((address) => place(account, bot, address)));
      const isNew = (_: string, index: number) => !isDeepStrictEqual(known[index], found);
      const places = addresses.filter(isNew).map((address) => putPlace(account, bot, address, found));
      const statements = [...places, ...[...files].map(([ref, file]) => putFile(account, ref, file))];
      if (statements.length > 0) await (await open()).transaction(statements);
    },
  };
}
