/** Connections to one server, and what a gateway demands of it. */
import { messageOf } from "@svc/sdk";
import { Client, type ClientBase, type ClientConfig } from "pg";
import type { Address } from "./address.ts";
import { isLost, stateOf } from "./failures.ts";
import { getTypeParser } from "./values.ts";

/** Choice: milliseconds to connect, and for a call, after which the connection counts as lost. */
const CONNECT_MS = 10_000;
const CALL_MS = 15_000;
/** https://www.postgresql.org/support/versioning/ */
const OLDEST = 140_000;

/** Settings of each connection. Commits of a group are written to the disk together: `BEGIN_SYNCED` of `writer.ts`. */
const SESSION = {
  read: "SET default_transaction_read_only = on",
  write: `SET default_transaction_isolation = 'serializable';
    SELECT set_config('svc.synchronous_commit', CASE setting WHEN 'off' THEN 'on' ELSE setting END, false)
      FROM current_setting('synchronous_commit') AS setting;
    SET synchronous_commit = off`,
  /** Its commits do not wait for the disk. */
  stream: "SET synchronous_commit = off",
  /** Without time limit, for work on whole tables. */
  long: "SET statement_timeout = 0",
};
export type Kind = keyof typeof SESSION;

export function configOf({ config }: Address, kind: Kind): ClientConfig {
  return {
    ...config,
    application_name: "svc",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser },
    ...(kind === "long" ? {} : { query_timeout: CALL_MS }),
    ...(kind === "write" ? { pipeline: true } : {}),
  } as ClientConfig; // `pipeline` is missing in its declarations
}

/** Settings of a new connection. */
export async function prepare(client: ClientBase, { schema }: Address, kind: Kind): Promise<void> {
  await client.query(
    `SET search_path = ${schema}; SET timezone = 'UTC'; SET client_min_messages = warning;
     SET statement_timeout = ${CALL_MS}; ${SESSION[kind]}`,
  );
}

/**
 * Opens a connection. `failed` is called once when the connection is lost.
 * @throws Error of the server or the connection
 */
export async function connect(address: Address, kind: Kind, failed: (error: Error) => void): Promise<Client> {
  const client = new Client(configOf(address, kind));
  client.on("error", failed);
  try {
    await client.connect();
    await prepare(client, address, kind);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** A server that cannot be used: the message names what it lacks, and the next step. */
export class Unfit extends Error {
  override readonly name = "Unfit";
}

/** @throws Unfit; the error of the connection */
export async function checkServer(client: Client, { location, schema }: Address, second: () => Promise<Client>) {
  const { rows } = await client.query<{ version: number; shown: string; standby: number; readonly: string }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS shown,
       pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS readonly`,
  );
  const [{ version, shown, standby, readonly }] = rows as [(typeof rows)[number]]; // of a SELECT without FROM
  if (version < OLDEST) throw new Unfit(`the database ${location} is PostgreSQL ${shown}; use version 14 or newer`);
  if (standby === 1 || readonly === "on")
    throw new Unfit(`the database ${location} accepts no writes; use the address of the primary server`);
  const other = await second();
  try {
    if (await sharesSession(client, other))
      throw new Unfit(
        `the database ${location} is behind a transaction pooler, which mixes the sessions of its clients; ` +
          "use the address of the server itself, or the session mode of the pooler",
      );
  } finally {
    await other.end();
  }
  try {
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  } catch (error) {
    if (stateOf(error) === "23505") return; // another gateway has created it at the same moment
    if (stateOf(error) !== "42501") throw error;
    const { rows: found } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    if (found.length === 0)
      throw new Unfit(
        `the user of the database ${location} may not create the schema ${schema}; ` +
          `run as its owner: CREATE SCHEMA ${schema} AUTHORIZATION <user>`,
        { cause: error },
      );
  }
}

/** Whether a setting of one connection is seen by the other: a pooler gives a server connection to one transaction after the other. */
async function sharesSession(one: Client, other: Client): Promise<boolean> {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const mark = `mark ${performance.now()}`;
    await from.query("SELECT set_config('svc.mark', $1, false)", [mark]);
    const { rows } = await to.query<{ mark: string | null }>("SELECT current_setting('svc.mark', true) AS mark");
    if (rows[0]?.mark === mark) return true;
  }
  return false;
}

/** The error of a start, with the cause of a person's mistake and the next step. */
export function describedOpenError(thrown: unknown, { location, config }: Address): Error {
  if (thrown instanceof Unfit) return thrown;
  const state = stateOf(thrown);
  const advice =
    state === "28P01" || state === "28000"
      ? "check user and password of the address, and pg_hba.conf of the server"
      : state === "3D000"
        ? `create it: CREATE DATABASE "${config.database}"`
        : isLost(thrown)
          ? "check that the server runs and that host, port and sslmode of the address are right"
          : "see the log of the server";
  return new Error(`cannot open the database ${location}: ${messageOf(thrown)}; ${advice}`, { cause: thrown });
}
