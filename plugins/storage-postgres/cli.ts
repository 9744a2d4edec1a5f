/** `svc storage copy`: moves a state between the database file of this machine and PostgreSQL. */
import { invalidRequest } from "@svc/sdk";
import { type CommandContext, configuredValue, defineCommands, show } from "@svc/sdk/cli";
import type { Copied } from "./copy/copy.ts";
import { resolve } from "node:path";

export default defineCommands([
  {
    name: "storage copy",
    summary: "Copy the state to a PostgreSQL database, or from it",
    isLocal: true,
    options: [
      {
        flags: "--to <address>",
        description: "copy the database file of this state directory there; it must be empty",
      },
      { flags: "--from <address>", description: "copy to a new database file of this state directory" },
      { flags: "--without <plugin>", description: "leave out the tables of a plugin", repeatable: true },
    ],
    help: [
      "An address is postgres://user:password@host:5432/database, or the name of an environment variable that holds it, which keeps the",
      "password out of the process list. Stop every gateway that uses one of the two. A copy that was interrupted continues when it is repeated.",
    ],
    examples: ["svc storage copy --to SVC_DATABASE_URL", "svc storage copy --from SVC_DATABASE_URL --json"],
    async run(context) {
      const [to, from] = [addressOf(context, "to"), addressOf(context, "from")];
      const url = to ?? from;
      if (url === undefined || (to !== undefined && from !== undefined))
        return invalidRequest("name one place: --to <address> or --from <address>");
      const { copyState } = await import("./copy/copy.ts");
      const { openPostgres } = await import("./copy/postgres-end.ts");
      const { openSqlite } = await import("./copy/sqlite-end.ts");
      const { stateDir } = context;
      const file = await configuredValue("storage-sqlite.file");
      const path = resolve(stateDir, "plugins", "storage-sqlite", typeof file === "string" ? file : "svc.db");
      const clock = { now: () => Date.now() };
      const sqlite = await openSqlite(path, from !== undefined, clock);
      try {
        const postgres = await openPostgres(url, stateDir, clock);
        try {
          const ends = to === undefined ? { from: postgres, to: sqlite } : { from: sqlite, to: postgres };
          const copied = await copyState({ ...ends, without: new Set(listOf(context)), progress: progressOf(context) });
          show(context, { from: ends.from.location, to: ends.to.location, ...copied }, (value) => [
            ...linesOf(value),
            to === undefined
              ? "Next: start the gateway without SVC_DATABASE_URL: svc gateway run"
              : "Next: start the gateway with this address in SVC_DATABASE_URL: svc gateway run",
          ]);
        } finally {
          await postgres.close();
        }
      } finally {
        await sqlite.close();
      }
    },
  },
]);

function addressOf({ options }: CommandContext, name: string): string | undefined {
  const given = options[name];
  if (typeof given !== "string") return undefined;
  return /^[A-Z_][A-Z0-9_]*$/.test(given) ? (process.env[given] ?? given) : given;
}

function listOf({ options: { without } }: CommandContext): readonly string[] {
  return Array.isArray(without) ? without.map(String) : [];
}

/** Choice: milliseconds between two lines about one table. */
const TELL_MS = 2_000;

function progressOf({ json, note }: CommandContext): (table: string, done: number, total: number) => void {
  let told = 0;
  return (table, done, total) => {
    if (json || (done < total && performance.now() - told < TELL_MS)) return;
    told = performance.now();
    note(`${table}: ${done} of ${total} rows`);
  };
}

function linesOf({ from, to, tables }: Copied & { readonly from: string; readonly to: string }): string[] {
  const rows = tables.reduce((total, one) => total + one.rows, 0);
  return [`Copied ${rows} rows of ${tables.length} tables from ${from} to ${to}; counts and checksums are equal.`];
}
